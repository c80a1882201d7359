"""Operators on sparse tensors: conversion, arithmetic, selection, softmax, embedding gradients.

Imports every other family.
"""
