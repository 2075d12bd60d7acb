#!/usr/bin/env python3
"""Write those files of ../hand that are too regular to type: the matrix families, the video instructions, the stress files.

usage: families.py        (overwrites isa_wmma, isa_mma*, isa_wgmma, isa_tcgen05*, isa_video and stress_* in ../hand)
"""
import os
import random
from pathlib import Path

os.chdir(Path(__file__).resolve().parent.parent / "hand")

# --------------------------------------------------------------- matrix families
def v(p,n,o=0): return '{'+', '.join(f'{p}{i+o}' for i in range(n))+'}'
def write(name,*parts): open(name,'w').write('\n'.join(parts)+'\n')
H=lambda ver,tgt: f'.version {ver}\n.target {tgt}\n.address_size 64'
# wmma
def load(m,lay,shape,t,n,reg='r',ss='.global',addr='[d0]',stride=', 64'): return f'wmma.load.{m}.sync.aligned.{lay}.{shape}{ss}.{t} {v(reg,n)}, {addr}{stride};'
def store(lay,shape,t,n,reg,ss='.global',addr='[d0]',stride=', 64'): return f'wmma.store.d.sync.aligned.{lay}.{shape}{ss}.{t} {addr}, {v(reg,n)}{stride};'
DECL='  .reg .b32 r<80>, n; .reg .f32 f<20>; .reg .f64 e<20>; .reg .b64 d<4>; .reg .pred p;'
w=[]
w+=['// Shows: wmma: loads, stores and products of every element type and shape, layouts, spaces, with and without a stride.',H('8.0','sm_80'),'.shared .align 128 .b8 s[8192];','.visible .entry halves(.param .u64 a)','{',DECL,'  ld.param.u64 d0, [a];']
for sh in ('m16n16k16','m8n32k16','m32n8k16'):
    w.append('  '+' '.join([load('a','row',sh,'f16',8),load('b','col',sh,'f16',8,ss='.shared',addr='[s]'),load('c','row',sh,'f16',4,ss='',stride=''),load('c','col',sh,'f32',8,'f',ss='.shared::cta',addr='[s+256]',stride=', n'),store('row',sh,'f16',4,'r'),store('col',sh,'f32',8,'f',ss='.shared',addr='[s]',stride='')]))
w.append(f'  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {v("f",8)}, {v("r",8)}, {v("r",8,8)}, {v("f",8)};')
w.append(f'  wmma.mma.sync.aligned.col.row.m8n32k16.f16.f16 {v("r",4)}, {v("r",8,4)}, {v("r",8,12)}, {v("r",4,20)};')
w.append(f'  wmma.mma.sync.aligned.row.row.m32n8k16.f16.f32 {v("r",4)}, {v("r",8,4)}, {v("r",8,12)}, {v("f",8)};')
w.append(f'  wmma.mma.sync.aligned.col.col.m16n16k16.f32.f16 {v("f",8)}, {v("r",8,4)}, {v("r",8,12)}, {v("r",4)};')
w+=['  ret;','}','.visible .entry integers(.param .u64 a)','{',DECL]
for sh,na,nb in (('m16n16k16',2,2),('m8n32k16',1,4),('m32n8k16',4,1)):
    w.append('  '+' '.join([load('a','row',sh,'u8',na),load('b','col',sh,'u8',nb),load('a','col',sh,'s8',na,ss='.shared',addr='[s]'),load('b','row',sh,'s8',nb,ss=''),load('c','row',sh,'s32',8,stride=''),store('col',sh,'s32',8,'r')]))
    w.append(f'  wmma.mma.sync.aligned.row.col.{sh}.s32.u8.u8.s32 {v("r",8)}, {v("r",na,8)}, {v("r",nb,12)}, {v("r",8)}; wmma.mma.sync.aligned.col.row.{sh}.s32.s8.s8.s32.satfinite {v("r",8)}, {v("r",na,8)}, {v("r",nb,12)}, {v("r",8)};')
sh='m8n8k32'
w.append('  '+' '.join([load('a','row',sh,'s4',1,stride=', 32'),load('b','col',sh,'u4',1),load('a','row',sh,'u4',1),load('c','row',sh,'s32',2),store('row',sh,'s32',2,'r')]))
w.append('  wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {r0, r1}, {r2}, {r3}, {r4, r5}; wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32.satfinite {r0, r1}, {r2}, {r3}, {r4, r5};')
sh='m8n8k128'
w.append('  '+' '.join([load('a','row',sh,'b1',1,stride=', 128'),load('b','col',sh,'b1',1),load('c','col',sh,'s32',2),store('col',sh,'s32',2,'r',ss='')]))
w.append('  wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {r0, r1}, {r2}, {r3}, {r4, r5}; wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {r0, r1}, {r2}, {r3}, {r4, r5};')
w+=['  ret;','}','.visible .entry others(.param .u64 a)','{',DECL]
for sh,na,nb in (('m16n16k16',4,4),('m8n32k16',2,8),('m32n8k16',8,2)):
    w.append('  '+' '.join([load('a','row',sh,'bf16',na),load('b','col',sh,'bf16',nb,ss='.shared',addr='[s]'),load('c','row',sh,'f32',8,'f')]))
    w.append(f'  wmma.mma.sync.aligned.row.col.{sh}.f32.bf16.bf16.f32 {v("f",8)}, {v("r",na)}, {v("r",nb,8)}, {v("f",8)};')
sh='m16n16k8'
w.append('  '+' '.join([load('a','row',sh,'tf32',4),load('b','row',sh,'tf32',4),load('c','col',sh,'f32',8,'f'),store('row',sh,'f32',8,'f')]))
w.append(f'  wmma.mma.sync.aligned.row.row.{sh}.f32.tf32.tf32.f32 {v("f",8)}, {v("r",4)}, {v("r",4,4)}, {v("f",8,8)};')
sh='m8n8k4'
w.append('  '+' '.join([load('a','row',sh,'f64',1,'e'),load('b','col',sh,'f64',1,'e'),load('c','row',sh,'f64',2,'e'),store('col',sh,'f64',2,'e')]))
w.append('  wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64 {e0, e1}, {e2}, {e3}, {e4, e5}; wmma.mma.sync.aligned.col.row.m8n8k4.rn.f64.f64.f64.f64 {e0, e1}, {e2}, {e3}, {e4, e5};')
w+=['  ret;','}']
write('isa_wmma.ptx',*w)
# mma
DECL='  .reg .b32 r<40>, c<12>, sc; .reg .f32 f<20>; .reg .f64 e<20>; .reg .b16 h<4>; .reg .b64 d<4>;'
def mma(mods,dn,an,bn,cn,D='f',A='r',C='f',tail=''): return f'  mma.sync.aligned.{mods} {v(D,dn)}, {v(A,an)}, {v(A,bn,an)}, {v(C,cn)}{tail};'
m=['// Shows: mma.sync for half, bfloat, tf32, fp8, double, integer and single-bit elements.',H('8.7','sm_90'),'.visible .entry floats()','{',DECL]
m+=[mma('m8n8k4.row.col.f32.f16.f16.f32',8,2,2,8),mma('m8n8k4.col.row.f16.f16.f16.f16',4,2,2,4,'r','r','r'),mma('m8n8k4.row.row.f32.f16.f16.f16',8,2,2,4,'f','r','r'),mma('m16n8k8.row.col.f16.f16.f16.f16',2,2,1,2,'r','r','r'),mma('m16n8k8.row.col.f32.f16.f16.f32',4,2,1,4),mma('m16n8k16.row.col.f16.f16.f16.f16',2,4,2,2,'r','r','r'),mma('m16n8k16.row.col.f32.f16.f16.f32',4,4,2,4),mma('m16n8k4.row.col.f32.tf32.tf32.f32',4,2,1,4),mma('m16n8k8.row.col.f32.tf32.tf32.f32',4,4,2,4),mma('m16n8k8.row.col.f32.bf16.bf16.f32',4,2,1,4),mma('m16n8k16.row.col.f32.bf16.bf16.f32',4,4,2,4),
 mma('m16n8k16.row.col.f32.e4m3.e5m2.f32',4,2,1,4),mma('m16n8k32.row.col.f32.e4m3.e4m3.f32',4,4,2,4),mma('m16n8k32.row.col.f16.e5m2.e4m3.f16',2,4,2,2,'r','r','r'),
 mma('m8n8k4.row.col.f64.f64.f64.f64',2,1,1,2,'e','e','e'),mma('m16n8k4.row.col.f64.f64.f64.f64',4,2,1,4,'e','e','e'),mma('m16n8k8.row.col.f64.f64.f64.f64',4,4,2,4,'e','e','e'),mma('m16n8k16.row.col.f64.f64.f64.f64.rn',4,8,4,4,'e','e','e'),'  ret;','}','.visible .entry integers()','{',DECL]
for mods,dn,an,bn in (('m8n8k16.row.col.s32.u8.s8.s32',2,1,1),('m16n8k16.row.col.satfinite.s32.s8.s8.s32',4,2,1),('m16n8k32.row.col.s32.u8.u8.s32',4,4,2),('m16n8k32.row.col.s32.s8.u8.s32.satfinite',4,4,2),('m8n8k32.row.col.satfinite.s32.s4.u4.s32',2,1,1),('m16n8k32.row.col.s32.u4.u4.s32',4,2,1),('m16n8k64.row.col.satfinite.s32.s4.s4.s32',4,4,2),('m8n8k128.row.col.s32.b1.b1.s32.xor.popc',2,1,1),('m16n8k128.row.col.s32.b1.b1.s32.and.popc',4,2,1),('m16n8k256.row.col.s32.b1.b1.s32.xor.popc',4,4,2)):
    m.append(mma(mods,dn,an,bn,dn,'c','r','c'))
m+=['  mma.m16n8k16.sync.aligned.row.col.f32.bf16.bf16.f32 {f0, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f0, f1, f2, f3};  // the shape may stand before .sync','  ret;','}']
m+=['.visible .entry fragments(.param .u64 p)','{',DECL,'  .shared .align 128 .b8 s[4096];',
'  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [s]; ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {r0, r1}, [s+128]; ldmatrix.sync.aligned.m8n8.x4.b16 {r0, r1, r2, r3}, [d0]; stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {r0}; stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [r5], {r0, r1}; stmatrix.sync.aligned.m8n8.x4.trans.b16 [d0], {r0, r1, r2, r3}; movmatrix.sync.aligned.m8n8.trans.b16 r0, r1;','  ret;','}']
write('isa_mma.ptx',*m)
# mma sparse
def sp(mods,dn,an,bn,cn,sel,D='f',C='f',var='sp::ordered_metadata'): return f'  mma.{var}.sync.aligned.{mods} {v(D,dn)}, {v("r",an)}, {v("r",bn,an)}, {v(C,cn)}, sc, {sel};'
m=['// Shows: sparse matrix products mma.sp and mma.sp::ordered_metadata for every element type.',H('8.7','sm_90'),'.visible .entry k()','{',DECL]
for var in ('sp','sp::ordered_metadata'):
    m+=[sp('m16n8k16.row.col.f16.f16.f16.f16',2,2,2,2,0,'c','c',var),sp('m16n8k32.row.col.f32.f16.f16.f32',4,4,4,4,1,var=var),sp('m16n8k16.row.col.f32.bf16.bf16.f32',4,2,2,4,3,var=var),sp('m16n8k32.row.col.f32.bf16.bf16.f32',4,4,4,4,0,var=var),sp('m16n8k8.row.col.f32.tf32.tf32.f32',4,2,2,4,2,var=var),sp('m16n8k16.row.col.f32.tf32.tf32.f32',4,4,4,4,1,var=var),sp('m16n8k64.row.col.f32.e4m3.e5m2.f32',4,4,4,4,0,var=var),sp('m16n8k32.row.col.satfinite.s32.s8.u8.s32',4,2,2,4,1,'c','c',var),sp('m16n8k64.row.col.s32.u8.u8.s32',4,4,4,4,0,'c','c',var),sp('m16n8k64.row.col.s32.s4.u4.s32',4,2,2,4,1,'c','c',var),sp('m16n8k128.row.col.satfinite.s32.u4.u4.s32',4,4,4,4,0,'c','c',var)]
m+=[sp('m16n8k32.row.col.f16.f16.f16.f16',2,4,4,2,0,'c','c'),sp('m16n8k16.row.col.f32.f16.f16.f32',4,2,2,4,2),'  ret;','}']
write('isa_mma_sparse.ptx',*m)
# mma block scale sm_120a
m=['// Shows: mma with narrow floats and block scaling, dense and sparse, and the narrow forms of ldmatrix and stmatrix.',H('8.8','sm_120a'),'.shared .align 128 .b8 s[4096];','.visible .entry narrow()','{',DECL]
for a,b in (('e4m3','e5m2'),('e2m1','e3m2'),('e2m3','e2m1')): m.append(mma(f'm16n8k32.row.col.kind::f8f6f4.f32.{a}.{b}.f32',4,4,2,4))
m.append(mma('m16n8k32.row.col.kind::f8f6f4.f16.e3m2.e2m3.f16',2,4,2,2,'c','r','c'))
S=', sc, {0, 1}, r20, {h0, h1}'
m+=[mma('m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0',4,4,2,4,tail=', sc, {0, 1}, r20, {0, 1}'),mma('m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0',4,4,2,4,tail=S),mma('m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0',4,4,2,4,tail=S),mma('m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3',4,4,2,4,tail=', sc, {0, 0}, r20, {0, 0}'),mma('m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0',4,4,2,4,tail=S),mma('m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e5m2.e3m2.f32.ue8m0',4,4,2,4,tail=', sc, {3, 1}, r20, {2, 0}'),'  ret;','}','.visible .entry narrow_sparse()','{',DECL]
def spk(mods,dn,an,bn,cn,tail='',D='f',C='f'): return f'  mma.sp::ordered_metadata.sync.aligned.{mods} {v(D,dn)}, {v("r",an)}, {v("r",bn,an)}, {v(C,cn)}, c11, 0{tail};'
m+=[spk('m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32',4,4,4,4),spk('m16n8k64.row.col.kind::f8f6f4.f16.e3m2.e2m3.f16',2,4,4,2,'','c','c'),spk('m16n8k128.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0',4,4,4,4,S),spk('m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3',4,4,4,4,', sc, {0, 0}, r20, {0, 0}'),spk('m16n8k128.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0',4,4,4,4,S),spk('m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0',4,4,4,4,S),spk('m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e2m3.e3m2.f32.ue8m0',4,4,4,4,S),'  ret;','}',
'.visible .entry fragments()','{',DECL,'  ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r0, r1}, [s]; ldmatrix.sync.aligned.m16n16.x2.trans.shared::cta.b8x16.b6x16_p32 {r0, r1, r2, r3}, [s]; ldmatrix.sync.aligned.m16n16.x1.trans.b8x16.b4x16_p64 {r0, r1}, [d0]; ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {r0}, [s]; ldmatrix.sync.aligned.m8n16.x2.b8x16.b4x16_p64 {r0, r1}, [d0]; ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {r0, r1, r2, r3}, [s+512]; stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [s], {r0}; stmatrix.sync.aligned.m16n8.x4.trans.b8 [d0], {r0, r1, r2, r3};','  ret;','}']
write('isa_mma_block_scale.ptx',*m)
# wgmma
def wg(shape,types,n,tail,a='desc',D='f',spm='',pre=''):
    A='d0' if a=='desc' else v('r',4)
    return f'  wgmma.mma_async{".sp" if spm else ""}.sync.aligned.{shape}.{types} {v(D,n)}, {A}, d1{spm}{tail};'
DECL='  .reg .b32 r<8>, meta, i<200>, q<100>; .reg .f32 f<200>; .reg .b64 d<4>; .reg .pred p;'
m=['// Shows: wgmma: dense and sparse products of every element type from descriptors and registers, small and large shapes, groups.',H('8.5','sm_90a'),'.visible .entry dense()','{',DECL,'  wgmma.fence.sync.aligned;']
for a in ('desc','regs'):
    tr=', 1, -1, 0, 1' if a=='desc' else ', -1, 1, 1'
    m+=[wg('m64n8k16','f32.f16.f16',4,', p'+tr,a),wg('m64n16k16','f16.f16.f16',4,', 1'+tr,a,'q'),wg('m64n24k16','f32.bf16.bf16',12,', p'+tr,a),wg('m64n8k8','f32.tf32.tf32',4,', p, 1, 1',a),wg('m64n16k32','f32.e4m3.e5m2',8,', p, 1, -1',a),wg('m64n32k32','f16.e5m2.e5m2',8,', 0, 1, 1',a,'q'),wg('m64n8k32','s32.s8.u8',4,', p',a,'i'),wg('m64n24k32','satfinite.s32.u8.u8',12,', p',a,'i'),wg('m64n8k256','s32.b1.b1.and.popc',4,', p',a,'i')]
m+=[wg('m64n256k16','f32.f16.f16',128,', p, 1, 1, 0, 0'),wg('m64n128k16','f32.bf16.bf16',64,', p, 1, 1, 1','regs'),wg('m64n200k32','f32.e4m3.e4m3',100,', 1, 1, 1'),wg('m64n96k256','s32.b1.b1.and.popc',48,', p','desc','i'),'  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; wgmma.wait_group.sync.aligned 7;','  ret;','}','.visible .entry sparse()','{',DECL,'  wgmma.fence.sync.aligned;']
for a in ('desc','regs'):
    tr=', 1, -1, 0, 1' if a=='desc' else ', -1, 1, 1'; S=', meta, 0'
    m+=[wg('m64n8k32','f32.f16.f16',4,', p'+tr,a,spm=S),wg('m64n16k32','f16.f16.f16',4,', 1'+tr,a,'q',S),wg('m64n8k32','f32.bf16.bf16',4,', p'+tr,a,spm=', meta, 1'),wg('m64n8k16','f32.tf32.tf32',4,', p, 1, 1',a,spm=', meta, 1'),wg('m64n16k64','f32.e4m3.e5m2',8,', p, 1, -1',a,spm=S),wg('m64n8k64','satfinite.s32.s8.s8',4,', p',a,'i',S),wg('m64n16k64','s32.u8.s8',8,', p',a,'i',S)]
m+=['  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;','  ret;','}']
write('isa_wgmma.ptx',*m)
# tcgen05
DECL='  .reg .b32 r<140>, t, idesc, n; .reg .b64 da, db, desc; .reg .pred p; .reg .b16 mask; .reg .f32 f<140>, red; .reg .b64 a;'
m=['// Shows: tcgen05: allocation, copies, loads, stores, waits, shifts, fences, commits.',H('8.6','sm_100a'),'.shared .align 16 .b32 base; .shared .align 8 .b64 bar;','.visible .entry movement()','{',DECL,
'  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 512; tcgen05.alloc.cta_group::1.sync.aligned.b32 [a], n; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 512;',
'  tcgen05.fence::before_thread_sync; tcgen05.fence::after_thread_sync; tcgen05.shift.cta_group::1.down [t]; tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [a]; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar]; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], mask;',
'  tcgen05.cp.cta_group::1.128x256b [t], desc; tcgen05.cp.cta_group::1.4x256b [t], desc; tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32 [t], desc; tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [t], desc; tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b4x16_p64 [t+4], desc; tcgen05.cp.cta_group::1.32x128b.warpx4 [t], desc;']
for sh,k in (('16x64b',1),('16x128b',2),('16x256b',4),('32x32b',1)):
    ns=(1,8) if k<4 else (1,4)
    for nn in ns: m.append(f'  tcgen05.ld.sync.aligned.{sh}.x{nn}{".pack::16b" if nn==8 else ""}.b32 {v("r",nn*k)}, [t]; tcgen05.st.sync.aligned.{sh}.x{nn}{".unpack::16b" if nn==8 else ""}.b32 [t], {v("r",nn*k)};')
m+=[f'  tcgen05.ld.sync.aligned.32x32b.x128.b32 {v("r",128)}, [t+16];',f'  tcgen05.st.sync.aligned.16x256b.x16.b32 [t], {v("r",64)};',f'  tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {v("r",2)}, [t], 16; tcgen05.ld.sync.aligned.16x32bx2.x4.pack::16b.b32 {v("r",4)}, [t], 2 * 4; tcgen05.st.sync.aligned.16x32bx2.x1.b32 [t], 32, {{r0}}; tcgen05.st.sync.aligned.16x32bx2.x16.unpack::16b.b32 [t], 0, {v("r",16)};','  tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;','  ret;','}']
write('isa_tcgen05_memory.ptx',*m)
m=['// Shows: tcgen05.mma: dense, sparse, weight stationary, block scaled, with collectors, shifts, disabled lanes, scaled inputs.',H('8.8','sm_100a')]
K='tcgen05.mma'; 
def ent(name,g,body): return [f'.visible .entry {name}()','{',DECL.replace('.reg .b32 r<140>','.reg .b32 l<8>, r<4>').replace('f<140>','f<4>')]+['  '+x for x in body]+['  ret;','}']
lanes={1:'{l0, l1, l2, l3}',2:'{l0, l1, l2, l3, l4, l5, l6, l7}'}
for g in (1,2):
    G=f'cta_group::{g}'; ln=lanes[g]; b=[]
    for spx,md in (('',''),('.sp',' [r0],')):
        O=K+spx
        b+=[f'{O}.{G}.kind::f16 [t], da, db,{md} idesc, p; {O}.{G}.kind::tf32 [t], da, db,{md} idesc, {ln}, p; {O}.{G}.kind::f16 [t], da, db,{md} idesc, {ln}, p, 4; {O}.{G}.kind::f16 [t], [r1], db,{md} idesc, p; {O}.{G}.kind::f8f6f4 [t], [r1], db,{md} idesc, {ln}, !p; {O}.{G}.kind::tf32 [t], [r1], db,{md} idesc, p, 15;',
            f'{O}.{G}.kind::f16.collector::a::fill [t], da, db,{md} idesc, p; {O}.{G}.kind::f8f6f4.collector::a::use [t], da, db,{md} idesc, {ln}, p; {O}.{G}.kind::tf32.collector::a::lastuse [t], [r1], db,{md} idesc, p; {O}.{G}.kind::f16.ashift.collector::a::discard [t], [r1], db,{md} idesc, p; {O}.{G}.kind::f8f6f4.ashift [t], [r1], db,{md} idesc, {ln}, p; {O}.{G}.kind::tf32.ashift.collector::a::lastuse [t], [r1], db,{md} idesc, p, 2;',
            f'{O}.{G}.kind::mxf8f6f4.block_scale.scale_vec::1X [t], da, db,{md} idesc, [r2], [r3], p; {O}.{G}.kind::mxf8f6f4.block_scale [t], [r1], db,{md} idesc, [r2], [r3], p; {O}.{G}.kind::mxf4.block_scale.scale_vec::2X [t], da, db,{md} idesc, [r2], [r3], !p; {O}.{G}.kind::mxf4nvf4.block_scale.scale_vec::4X [t], [r1], db,{md} idesc, [r2], [r3], p; {O}.{G}.kind::mxf4nvf4.block_scale.block16 [t], da, db,{md} idesc, [r2], [r3], p; {O}.{G}.kind::mxf8f6f4.block_scale.block32 [t], da, db,{md} idesc, [r2], [r3], p;',
            f'{O}.{G}.kind::mxf4.block_scale.scale_vec::2X.collector::a::fill [t], da, db,{md} idesc, [r2], [r3], p; {O}.{G}.kind::mxf8f6f4.block_scale.collector::a::use [t], [r1], db,{md} idesc, [r2], [r3], p; {O}.{G}.kind::mxf4nvf4.block_scale.block32.collector::a::lastuse [t], da, db,{md} idesc, [r2], [r3], p;',
            f'{O}.{G}.kind::i8 [t], da, db,{md} idesc, p; {O}.{G}.kind::i8 [t], [r1], db,{md} idesc, {ln}, p; {O}.{G}.kind::i8.collector::a::use [t], da, db,{md} idesc, p; {O}.{G}.kind::i8.collector::a::fill [t], [r1], db,{md} idesc, {ln}, p; {O}.{G}.kind::i8.ashift [t], [r1], db,{md} idesc, p; {O}.{G}.kind::i8.ashift.collector::a::lastuse [t], [r1], db,{md} idesc, {ln}, p;']
    if g==1:
        for spx,md in (('',''),('.sp',' [r0],')):
            O=K+'.ws'+spx
            b+=[f'{O}.{G}.kind::f16 [t], da, db,{md} idesc, p; {O}.{G}.kind::tf32.collector::b0::fill [t], da, db,{md} idesc, p, desc; {O}.{G}.kind::f8f6f4.collector::b3::lastuse [t], [r1], db,{md} idesc, p; {O}.{G}.kind::f16 [t], [r1], db,{md} idesc, !p, desc; {O}.{G}.kind::i8 [t], da, db,{md} idesc, p; {O}.{G}.kind::i8.collector::b1::use [t], da, db,{md} idesc, p, desc; {O}.{G}.kind::i8.collector::b2::discard [t], [r1], db,{md} idesc, p; {O}.{G}.kind::i8 [t], [r1], db,{md} idesc, p, desc;']
    m+=ent(f'group{g}',g,b)
write('isa_tcgen05_mma.ptx',*m)
m=['// Shows: tcgen05.ld.red: loads with a running minimum or maximum.',H('9.0','sm_110a'),'.visible .entry k()','{',DECL]
m+=[f'  tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {v("f",2)}, red, [t];',f'  tcgen05.ld.red.sync.aligned.32x32b.x8.max.abs.NaN.f32 {v("f",8)}, red, [t];',f'  tcgen05.ld.red.sync.aligned.16x32bx2.x4.min.abs.f32 {v("f",4)}, red, [t], 16;',f'  tcgen05.ld.red.sync.aligned.32x32b.x4.max.u32 {v("r",4)}, n, [t];',f'  tcgen05.ld.red.sync.aligned.16x32bx2.x2.min.s32 {v("r",2)}, n, [t], 0;','  tcgen05.wait::ld.sync.aligned;','  ret;','}']
write('isa_tcgen05_reduce.ptx',*m)

# --------------------------------------------------------------- video instructions
out='''// Shows: all video instructions: scalar, two halves and four bytes, with selectors, masks, merging, secondary operations.
.version 3.0
.target sm_30
.address_size 64
.visible .entry scalar()
{
  .reg .b32 r<6>; .reg .u32 u<4>; .reg .s32 s<4>;
  // scalar: plain, with selectors, saturated, with a secondary operation, with a merge
'''
for op in ['vadd','vsub','vabsdiff','vmin','vmax']:
    out+=f'  {op}.s32.s32.s32 s0, s1, s2; {op}.u32.u32.u32 u0, u1.b0, u2.h1; {op}.s32.u32.s32.sat s0, u1.b3, s2.b1; {op}.u32.s32.u32.sat.add r0, r1.h0, r2.b2, r3; {op}.s32.s32.s32.min r0, r1, r2, r3; {op}.u32.u32.s32.max r0, r1, r2, r3; {op}.s32.s32.s32.sat r0.b0, r1, r2, r3; {op}.u32.u32.u32 r0.h1, r1.h0, r2.h1, r3;\n'
for op in ['vshl','vshr']:
    out+=f'  {op}.s32.s32.u32.clamp r0, r1, r2; {op}.u32.u32.u32.wrap r0, r1.h1, r2.b0; {op}.u32.u32.u32.sat.clamp r0, r1, 3; {op}.s32.u32.u32.wrap.add r0, r1, r2, r3; {op}.u32.s32.u32.sat.clamp.max r0, r1, r2.b3, r3; {op}.s32.s32.u32.clamp.min r0, r1, r2, r3; {op}.u32.u32.u32.wrap r0.b2, r1, r2, r3; {op}.s32.u32.u32.sat.wrap r0.h0, r1, r2, r3;\n'
out+='''  vmad.s32.s32.s32 r0, r1, r2, r3; vmad.u32.u32.u32 r0, r1.b0, r2.b1, r3; vmad.s32.s32.s32.sat r0, r1.h0, r2.h1, r3; vmad.s32.s32.u32.shr7 r0, r1, r2, r3; vmad.s32.s32.s32.sat.shr15 r0, -r1, r2, r3; vmad.s32.s32.s32 r0, r1, -r2, r3; vmad.s32.u32.u32 r0, r1, r2, -r3; vmad.u32.u32.u32.po r0, r1, r2, r3; vmad.s32.s32.s32.po.sat.shr7 r0, r1.b0, r2.h1, r3;
  vset.s32.s32.lt r0, r1, r2; vset.u32.u32.eq r0, r1.b0, r2.b3; vset.u32.s32.ne.add r0, r1, r2, r3; vset.s32.s32.ge.min r0, r1, r2, r3; vset.u32.u32.gt.max r0, r1.h1, r2, r3; vset.s32.u32.le r0.b3, r1, r2, r3; vset.u32.u32.lt r0.h0, r1, r2, r3;
  ret;
}
'''
for n,sels,masks,title in ((2,('h10','h32','h01','h13','h22'),('h0','h1','h10'),'two halves'),(4,('b3210','b7654','b0123','b0000','b5241'),('b0','b1','b10','b2','b20','b21','b210','b3','b30','b31','b310','b32','b320','b321','b3210'),'four bytes')):
    out+=f'.visible .entry simd{n}()\n{{\n  .reg .b32 r<6>; // {title}\n'
    for k,op in enumerate(['vadd','vsub','vavrg','vabsdiff','vmin','vmax']):
        m=lambda j: masks[(k*3+j)%len(masks)]
        s=lambda j: sels[(k+j)%len(sels)]
        o=op+str(n)
        out+=f'  {o}.s32.s32.s32 r0, r1, r2, r3; {o}.u32.u32.u32.sat r0, r1, r2, r3; {o}.s32.u32.s32 r0.{m(0)}, r1.{s(0)}, r2.{s(1)}, r3; {o}.u32.s32.u32.sat r0.{m(1)}, r1, r2.{s(2)}, r3; {o}.s32.s32.s32.add r0, r1, r2, r3; {o}.u32.u32.u32.add r0.{m(2)}, r1.{s(3)}, r2, r3;\n'
    out+='  '+' '.join(f'vset{n}.{a}.{b}.{c}{add} r0{("."+masks[i%len(masks)]) if i%2 else ""}, r1.{sels[i%5]}, r2, r3;' for i,(a,b,c,add) in enumerate([('u32','u32','eq',''),('s32','s32','lt',''),('u32','s32','ne',''),('s32','u32','ge',''),('u32','u32','gt','.add'),('s32','s32','le','.add')]))+'\n  ret;\n}\n'
open('isa_video.ptx','w').write(out)

# --------------------------------------------------------------- stress
H='.version 8.5\n.target sm_90\n.address_size 64\n'
vals=', '.join(str((i*2654435761)%1000003) for i in range(6000))
open('stress_long_line.ptx','w').write('// Shows: one line of sixty thousand characters, six thousand values in one initialiser.\n'+H+'.global .b32 table[6000] = {'+vals+'}; .visible .entry k() { .reg .b32 r; '+'mov.b32 r, 1; '*1200+'ret; }\n')
n=150
open('stress_deep_blocks.ptx','w').write('// Shows: a hundred and fifty nested blocks, each with its own register and label of the same name.\n'+H+'.visible .entry k()\n{\n'+''.join(' '*i+'{ .reg .b32 r; again: mov.b32 r, %d;\n'%i for i in range(n))+''.join(' '*(n-i)+'}\n' for i in range(n))+'ret;\n}\n')
open('stress_deep_expression.ptx','w').write('// Shows: deep and long constant expressions.\n'+H+'.global .s64 deep = '+'('*300+'1'+' + 1)'*300+';\n.global .s64 unary = '+'- '*199+'~ !'*51+'7;\n.global .s64 choices = '+'0 ? 1 : '*200+'2;\n.global .s64 sum = '+' + '.join(str(i) for i in range(1,700))+';\n.global .u64 mixed = '+' ^ '.join(f'({i} * {i} << {i%7} | {i} & {i%5+1} % {i+1})' for i in range(1,150))+';\n.visible .entry k() { ret; }\n')
open('stress_many_params.ptx','w').write('// Shows: three hundred kernel parameters, a call with sixty arguments, four hundred labels, a jump table of two hundred.\n'+H+'.func (.param .b64 r) wide('+', '.join(f'.param .b{32 if i%2 else 64} a{i}' for i in range(60))+') { ret; }\n.visible .entry k(\n'+',\n'.join(f'  .param .u{(8,16,32,64)[i%4]} p{i}' for i in range(300))+'\n)\n{\n  .reg .b32 r<60>, i; .reg .b64 d<60>;\n  ld.param.u32 i, [p298];\n  call (d0), wide, ('+', '.join(f'{"r" if i%2 else "d"}{i}' for i in range(60))+');\n  list: .branchtargets '+', '.join(f'L{i*2}' for i in range(200))+';\n  brx.idx i, list;\n'+''.join(f'L{i}: add.s32 r{i%60}, r{i*7%60}, {i};\n' for i in range(400))+'  ret;\n}\n')
open('stress_debug_bytes.ptx','w').write('// Shows: a debug section of four thousand bytes in lists of different lengths, with labels between them.\n'+H+'.visible .entry k() { ret; }\n.section .debug_str\n{\n'+''.join((f'$L__string{i}:\n' if i%7==0 else '')+'.b8 '+','.join(str((i*j*31)%256) for j in range(1,i%23+2))+'\n' for i in range(340))+'}\n')
random.seed(7)
ops=['add.s32','sub.s32','mul.lo.s32','and.b32','or.b32','xor.b32','min.s32','max.u32','shl.b32','shr.u32']
out='// Shows: straight-line code of two thousand instructions with guards, labels and line information, in the style of a compiler.\n'+H+'.file 1 "/src/generated.cu"\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t.reg .pred \t%p<20>;\n\t.reg .b32 \t%r<200>;\n\t.reg .b64 \t%rd<3>;\n\n\tld.param.u64 \t%rd1, [k_param_0];\n\tcvta.to.global.u64 \t%rd2, %rd1;\n'
for i in range(2000):
    if i%9==0: out+=f'\t.loc\t1 {i//9+1} {i%40+1}\n'
    if i%50==0: out+=f'\n$L__BB0_{i//50}:\n'
    g=f'@{random.choice(["","!"])}%p{random.randrange(20)} ' if random.random()<.1 else ''
    if i%37==0: out+=f'\tsetp.ne.s32 \t%p{random.randrange(20)}, %r{random.randrange(200)}, {random.randrange(99)};\n'
    out+=f'\t{g}{random.choice(ops)} \t%r{random.randrange(200)}, %r{random.randrange(200)}, {random.choice(["%r"+str(random.randrange(200)),str(random.randrange(-99,999))])};\n'
    if i%50==49: out+=f'\t@%p{random.randrange(20)} bra \t$L__BB0_{random.randrange(40)};\n'
out+='\tst.global.u32 \t[%rd2], %r7;\n\tret;\n\n}\n'
open('stress_straight_line.ptx','w').write(out)
