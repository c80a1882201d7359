"""Gather, scatter, masks, order, counting, triangles and assignment beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.support.beside import compare

torch = pytest.importorskip("torch")


def changed(target: Any, key: Any, value: Any) -> Any:
    target[key] = value
    return target


def inputs(T: Any) -> dict[str, Any]:
    def leaf(*shape: int) -> Any:
        values = np.sin(np.arange(np.prod(shape, dtype=int), dtype="f8") * 1.7 + len(shape)).reshape(shape)
        return T.from_numpy(values).requires_grad_()

    a, b, c, d, w = leaf(3, 4), leaf(4), leaf(3, 3), leaf(), leaf(3, 4, 2)
    names = {
        "a": a,
        "b": b,
        "c": c,
        "d": d,
        "w": w,
        "x": a * 1,
        "v": b * 1,
        "m": c * 1,
        "s": d * 1,
        "src": w[:, :, 0] * 2,
        "two": w[:2, :, 1] * 2,
    }
    names |= {"i2": T.tensor([[0, 1, 2, 0], [2, 1, 0, 0]]), "i1": T.tensor([0, 2]), "mask": (a * 1).detach() > 0}
    return names | {
        "k": T.tensor([3, 1, 3, 0, 1]),
        "put": changed,
        "plain": T.zeros(3, 4),
        "whole": T.arange(12).reshape(3, 4),
    }


EXPRESSIONS = """
x.gather(0,i2) | x.gather(1,i2) | x.gather(1,i1) | x.gather(0,i2+5) | x.gather(0,i2.float()) | x.gather(1,i2[:,:1])
s.gather(0,T.tensor([0,0])) | v.gather(0,T.tensor(2)) | x.gather(0,T.zeros(3,9,dtype=T.long)) | x.gather(5,i2)
x.scatter(0,i2,two) | x.scatter(0,i2,1.0) | x.scatter(1,i2,two) | x.scatter(0,i2[:1],two[:1])
x.clone().scatter_(0,i2,two) | x.scatter(0,i2,two.float()) | x.clone().scatter_(1,i2[:,:2],7.0)
plain.scatter(0,i2,1) | x.scatter_add(0,i2,two) | x.scatter_add(1,i2,two) | x.scatter_add(0,i2,src[:1])
plain.double().scatter_add_(0,i2,two) | x.scatter_reduce(0,i2,two,'sum') | x.scatter_reduce(0,i2,two,'amax')
x.scatter_reduce(0,i2,two,'amin') | x.scatter_reduce(0,i2,two,'mean') | x.scatter_reduce(0,i2,two,'prod')
x.scatter_reduce(0,i2,two,'bad') | x.scatter_reduce(0,i2,two,'mean',include_self=False)
x.scatter_reduce(0,i2,two,'sum',include_self=False) | x.scatter_reduce(0,i2,two,'amax',include_self=False)
x.scatter_reduce(0,i2,two,'prod',include_self=False) | plain.scatter(0,i2,plain+2,reduce='add')
plain.scatter(0,i2,3.0,reduce='multiply') | x.index_select(0,i1) | x.index_select(1,T.tensor([0,0,3]))
x.index_select(0,i1+9) | x.index_select(0,i2) | x.index_select(0,i1.float()) | x.index_select(0,T.tensor(1))
d.index_select(0,T.tensor([0])) | w.index_select(1,i1.int()) | x.index_select(0,T.tensor([-1]))
x.index_add(0,i1,src[:2]) | x.index_add(0,i1,src[:2],alpha=2) | x.index_add(0,i1,src)
x.index_add(1,T.tensor([0,0]),src[:,:2]) | x.clone().index_add_(0,i1,src[:2]) | x.index_copy(0,i1,src[:2])
x.index_copy(0,i1,src) | x.index_copy(1,i1,src[:,:2]) | x.index_fill(0,i1,3.) | x.index_fill(0,i1,d)
x.index_fill(1,i1,v) | x.index_put((i1,),src[:2]) | x.index_put((i1,i1),v[0])
x.index_put((T.tensor([0,0]),),src[:2],accumulate=True) | x.index_put((mask,),v[0]) | x.index_put((None,i1),v)
x.index_put((i1,),v.float()) | x.masked_fill(mask,3.) | x.masked_fill(mask,d) | x.masked_fill(mask,T.ones(2))
x.masked_fill(mask.long(),3.) | x.masked_fill(mask[0],3.) | v.masked_fill(mask,1.) | x.clone().masked_fill_(mask,0)
x.masked_fill(mask[:,:2],0.) | x.masked_select(mask) | x.masked_select(mask[0]) | v.masked_select(mask)
x.masked_select(mask.long()) | x.masked_scatter(mask,src) | x.masked_scatter(mask,src[0,:1])
x.masked_scatter(mask[0],src) | x.take(i1) | x.take(i2) | x.take(i1+100) | x.take(T.tensor([-1,0]))
x.take_along_dim(i2,0) | x.take_along_dim(i1) | x.take_along_dim(i2[:,:1],1) | x.put(i1,v[:2])
x.put(i1,v[:2],accumulate=True) | x.clone().put_(i1,v[:2]) | x.put(i1,v) | x.take_along_dim(i2[:1,:1],1) | x.topk(2)
x.topk(2,0) | x.topk(1,0,False) | x.topk(9) | x.topk(0) | x.sort() | x.sort(0,True) | x.sort(stable=True) | s.sort()
x.argsort() | x.argsort(0,True) | x.msort() | k.sort(stable=True) | k.sort(descending=True,stable=True) | x.sort(5)
x.kthvalue(2) | x.kthvalue(1,0,True) | x.kthvalue(9) | k.mode() | k.unique() | k.unique(True,True,True)
whole.unique(dim=0) | T.unique(k,return_inverse=True) | T.unique_consecutive(k)
T.unique_consecutive(i2[1],return_inverse=True,return_counts=True) | T.unique(whole%5,dim=1,return_counts=True)
T.bincount(k) | T.bincount(k,b.detach()[k],7) | T.bincount(i2) | T.bincount(v.detach()) | T.bincount(-k)
T.searchsorted(T.tensor([1.,3.,5.]),T.tensor([[3.,4.],[0.,9.]])) | T.searchsorted(T.tensor([1.,3.]),3.)
T.searchsorted(T.tensor([1,3,5]),k,right=True)
T.searchsorted(T.tensor([[1,2],[3,4]]),T.tensor([[2],[2]]),side='right',out_int32=True)
T.bucketize(x,T.tensor([-.5,0.,.5]).double()) | T.bucketize(3,T.tensor([1,3,5]),right=True) | T.histc(x.detach(),5)
x.detach().histc(4,-1,1) | T.isin(k,i1) | T.isin(k,i1,invert=True) | k.nonzero() | T.argwhere(mask)
T.tensor(1.).nonzero() | T.tensor(0.).nonzero() | x.tril() | x.triu(1) | x.tril(-1) | w.triu() | v.tril()
x.clone().tril_() | x.clone().triu_(1) | v.diag() | v.diag(1) | m.diag() | m.diag(1) | x.diag(-1) | w.diag()
x.diag_embed() | x.diag_embed(1,0,2) | m.diagflat(1) | m.trace() | x.trace() | v.trace() | T.tril_indices(3,3)
T.triu_indices(3,4,1) | T.tril_indices(4,2,-1) | x.cummax(0) | x.cummin(1) | k.cummax(0) | x.diagonal_scatter(v[:3])
x.select_scatter(v,0,0) | x.slice_scatter(src[:1],0,0,1) | x.clone().fill_diagonal_(1.)
m.clone().fill_diagonal_(0.) | put(x,0,1.) | put(x,(0,1),d) | put(x,slice(None),v)
put(x,(slice(None),slice(None,None,2)),src[:,:2]) | put(x,[0,1],src[:2]) | put(x,mask,d) | put(x,mask,2.)
put(x,(i1,i1),v[:2]) | put(x,Ellipsis,src) | put(x,None,v) | put(x,(slice(None),[0,0]),src[:,:2]) | put(x,True,1.)
put(x,0,src[:1]) | put(a,0,1.) | put(a,mask,1.) | put(plain,0,v.float()) | put(plain,0,v) | put(plain,[0],v)
put(whole,0,1.5) | put(whole,[0],1.5) | put(x,0,[1.,2.]) | put(x,slice(None),T.ones(5))
put(x,[0,1],T.ones(5).double()) | put(x,9,1.) | put(x,0,T.ones(1,1,4)) | put(x,(0,[1,2]),v[:2]) | put(x,[9],1.)
put(x,'a',1) | put(x[0],1,2.) | put(x[:,1:],mask[:,1:],d)
"""


@pytest.mark.parametrize("line", EXPRESSIONS.strip().split("\n"), ids=lambda line: line.split(" | ")[0])
def test_like_pytorch(line: str) -> None:
    wrong = []
    for expression in line.split(" | "):
        try:
            compare(torch, mpigrad, expression, inputs)
        except AssertionError as error:
            wrong.append(f"{error} {error.__cause__!r}")
    assert not wrong, "\n".join(wrong)
