"""Tensor methods besides mathematics: conversion, printing, copying, pickling, saving, queries, filling.

Imports `_define`, `create`, `elementwise` and `linalg`.
"""
