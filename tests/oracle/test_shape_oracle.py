"""Shapes, slices, joining and basic indexing beside PyTorch: values, views, node names, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.support.beside import compare

torch = pytest.importorskip("torch")


def inputs(T: Any) -> dict[str, Any]:
    def leaf(*shape: int) -> Any:
        return T.from_numpy(
            np.sin(np.arange(np.prod(shape, dtype=int), dtype="f8") * 1.7 + len(shape)).reshape(shape)
        ).requires_grad_()

    names = {"a": leaf(2, 3, 4), "b": leaf(4), "c": leaf(3, 3), "d": leaf(), "f": leaf(1, 3, 1), "n": leaf(0, 3)}
    names |= {"x": names["a"] * 1, "v": names["b"] * 1, "m": names["c"] * 1, "s": names["d"] * 1}
    return names | {"z": T.from_numpy(np.arange(6).reshape(2, 3)), "e": T.from_numpy(np.zeros((0, 4)))}


EXPRESSIONS = """
x.reshape(6,4) | x.reshape((2,-1)) | T.reshape(x,(4,6)) | x.transpose(0,1).reshape(3,2,2,2) | s.reshape(1,1)
x.view(-1) | x.transpose(0,1).view(3,2,2,2) | x.transpose(0,1).view(-1) | x.view(5,5) | x.view(-1,-1,4)
x.view(-1,5) | x.view_as(x) | x.view(-2, 12) | n.view(-1) | n.view(0,-1) | e.view(2,-1) | x.reshape_as(x)
x.flatten() | v.flatten() | x.flatten(1) | s.flatten() | x.flatten(2,1) | x.flatten(-2) | x.unflatten(2,(2,2))
x.unflatten(2,(-1,3)) | x.unflatten(-1,(2,-1)) | x.ravel() | v.ravel() | x.squeeze() | f.squeeze() | f.squeeze(0)
f.squeeze((0,2)) | x.squeeze(7) | s.squeeze(0) | f.squeeze(1) | T.squeeze(f,-1) | x.unsqueeze(0) | x.unsqueeze(-1)
x.unsqueeze(5) | s.unsqueeze(0) | x.transpose(0,1) | x.transpose(0,-1) | x.transpose(0,3) | x.t() | m.t() | v.t()
s.t() | m.T | x.T | m.mT | v.mT | m.H | x.mH | x.adjoint() | x.permute(2,0,1) | T.permute(x,(0,-1,1))
x.permute(2,0) | x.permute(0,0,1) | x.movedim(0,2) | x.movedim((0,1),(2,0)) | x.moveaxis(-1,0)
x.movedim((0,0),(1,2)) | x.swapaxes(0,1) | T.swapdims(x,0,1) | x.expand(5,2,3,4) | f.expand(2,3,4)
f.expand(-1,-1,5) | x.expand(3,3,4) | x.expand(-1,-1,-1,4) | f.expand_as(x) | T.broadcast_to(v,(2,4))
x.broadcast_to((5,2,3,4)) | T.broadcast_tensors(v,x) | T.broadcast_tensors(f,x) | T.broadcast_tensors(m,x)
x.narrow(0,0,1) | x.narrow(2,-3,2) | x.narrow(0,1,5) | x.narrow(0,0,-1) | x.select(0,1) | x.select(-1,-1)
x.select(0,9) | s.select(0,0) | x.unbind(0) | x.unbind(-1) | s.unbind(0) | x.split(2,2) | x.split([1,3],2)
x.split([1,4],2) | x.split(0) | v.split(3) | x.split(-1) | x.chunk(2,2) | x.chunk(3,2) | v.chunk(5) | v.chunk(0)
x.tensor_split(3,2) | x.tensor_split((1,2),2) | v.tensor_split(0) | x.hsplit(3) | x.vsplit(2) | x.dsplit(2)
T.split(x,1) | T.unbind(x,1)[1] | x.diagonal(0,1,2) | m.diagonal() | m.diagonal(1) | m.diagonal(-2)
x.diagonal(0,0,0) | x.unfold(2,2,1) | x.unfold(1,2,2) | x.unfold(2,7,1) | x.unfold(0,-1,1) | x.unfold(0,2,0)
v.unfold(0,3,1) | x.as_strided((2,2),(1,2)) | x.as_strided((2,2),(1,1)) | x.as_strided((3,),(2,),4)
x.as_strided((2,),(-1,)) | x[1].as_strided((2,2),(4,1)) | x.as_strided((30,),(1,)) | x.as_strided((2,),(1,2))
T.atleast_2d(v) | T.atleast_3d(v) | T.atleast_1d(v) | T.atleast_1d(s) | T.atleast_3d(m) | T.atleast_2d([v,s]) | x[0]
x[-1] | x[0,1] | x[1:2] | x[:] | x[...] | x[()] | x[None] | x[:,1] | x[:,None,1] | x[0,None] | x[0,1:2] | x[::2]
x[:,::2,1:] | x[::-1] | x[5] | x[-3] | x[0,0,0,0] | x[0,7] | s[0] | s[...] | s[None] | x[..., 0] | x[0,...,1]
x[...,None] | x[:,:] | v[1:1] | x[T.tensor(1)] | x[:,T.tensor(-1)] | x[True] | x[False] | x[T.tensor(True)]
x[0,True] | s[True] | x[[0,1]] | x[[0,1],[1,2]] | x[[[0,1],[1,2]]] | x[z] | x[:,z%3] | x[z[0],:,z[0]] | x[0,z[0]]
x[[-1,0,0]] | x[:,[0,0,2]] | x[:,[0,0],[1,2]] | x[[0,1],:,[1,1]] | x[1,:,[1,1]] | x[:,1,[0,0]] | x[[0],[1],[2]]
x[[]] | x[None,[0,1]] | x[...,[0,0]] | x[x>0] | x[x[0]>0] | x[:,x[0]>0] | x[x[:,0,0]>-2] | x[[True,False]]
x[[True,False,True]] | x[0,[True,False,True]] | v[v>100] | x[T.tensor([5])] | x[T.tensor([1.0])] | x[1.0]
x[[0,1],[0,1,2]] | x[np.array([1,0])] | x[range(2)] | x[T.tensor([1,0],dtype=T.int32)] | x[[0,1],None,[0,2]]
x[:,[[0,1],[2,0]]] | x[[1,1],0] | x[0][1][2] | x[z>2] | T.cat([x,x]) | T.cat([x,x],7) | T.cat([x,v])
T.cat([x,x[:,:1]]) | T.cat([x,x[:,:1]],1) | T.cat([]) | T.cat([v,T.zeros(0)]) | T.cat([T.zeros(0),x])
T.cat([v,v.float()]) | T.cat([v,z[0]]) | T.cat([s,s]) | T.cat([m[:,:1],m,m[:,1:]],-1) | T.concat([m,m])
T.stack([x,x]) | T.stack([x,x],-1) | T.stack([x,v]) | T.stack([]) | T.stack([s,s]) | T.stack([v,v],3)
T.hstack([x,x]) | T.hstack([v,v]) | T.hstack([s,s]) | T.vstack([v,v]) | T.dstack([v,v]) | T.column_stack([v,v])
x.tile(2) | x.tile(2,1,1,1) | x.repeat(2,1,1) | x.repeat(2) | v.repeat(2,3) | v.repeat(0) | s.repeat(3)
T.tile(m,(2,)) | x.repeat_interleave(2) | x.repeat_interleave(2,1) | x.repeat_interleave(T.tensor([1,2]),0)
v.repeat_interleave(T.tensor([0,1,2,0])) | x.repeat_interleave(T.tensor([1,2,3]),0) | x.flip(0) | x.flip((0,1))
x.flip(0,0) | x.fliplr() | x.flipud() | v.flip(0) | x.roll(1,0) | x.roll((1,2),(0,1)) | x.roll((1,2),0)
v.roll(-1,0) | x.rot90() | x.rot90(1,(1,2)) | x.rot90(2) | x.rot90(-1) | x.rot90(1,(0,0)) | v.rot90()
T.meshgrid(v,b,indexing='ij') | T.meshgrid(v,b[:2],indexing='xy') | T.meshgrid(v,s,indexing='no')
T.block_diag(m,m) | T.block_diag(m,v,s) | list(x) | reversed(v) | list(s) | x.unsqueeze(1)[0,0,1:]
T.combinations(z[0])
"""


@pytest.mark.parametrize("line", EXPRESSIONS.strip().split("\n"), ids=lambda line: line.split(" | ")[0])
def test_like_pytorch(line: str) -> None:
    wrong = []
    for expression in line.split(" | "):
        try:
            compare(torch, mpigrad, expression, inputs)
        except AssertionError as error:
            wrong.append(f"{error} {error.__cause__ or ''}")
    assert not wrong, "\n".join(wrong)
