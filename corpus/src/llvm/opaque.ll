; LLVM 19+ IR with opaque pointers: half types, atomics with scopes, packed vectors, byval, overflow, funnel shifts, variadics.
target triple = "nvptx64-nvidia-cuda"
%record = type { i32, [3 x i8], double }
@numbers = addrspace(1) global [5 x i32] [i32 1, i32 -2, i32 3, i32 2147483647, i32 0], align 16
@inside = addrspace(1) global ptr addrspace(1) getelementptr ([5 x i32], ptr addrspace(1) @numbers, i64 0, i64 3), align 8
@anywhere = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @numbers to ptr), align 8
@mixed = internal addrspace(4) constant <{ i8, ptr addrspace(1), i16, double }> <{ i8 7, ptr addrspace(1) @numbers, i16 -9, double 2.5 }>, align 1
@one_half = internal addrspace(1) global half 0xH3C00, align 2
@brain = addrspace(1) global bfloat 0xR4049, align 2
@room = external addrspace(3) global [0 x i8], align 16
@fixed = internal addrspace(3) global [64 x i64] undef, align 8
@loose = weak addrspace(1) global i64 -1
@common = common addrspace(1) global i32 0, align 4
@zeros = addrspace(1) global [40 x i16] zeroinitializer, align 2
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32, i32, i32, i32)
declare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x half>, <2 x half>)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare { i32, i1 } @llvm.umul.with.overflow.i32(i32, i32)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare half @llvm.maximum.f16(half, half)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare void @llvm.trap()
declare i32 @printer(ptr, ...)
define ptx_kernel void @mixed_bag(ptr addrspace(1) %o, i32 %n, half %h, <2 x i64> %v, ptr byval(%record) align 8 %rec, i1 zeroext %flag) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ok = icmp ult i32 %t, %n
  br i1 %ok, label %work, label %leave
work:
  %p = getelementptr i32, ptr addrspace(1) %o, i32 %t
  %x = load i32, ptr addrspace(1) %p
  %s = call { i32, i1 } @llvm.nvvm.shfl.sync.bfly.i32p(i32 -1, i32 %x, i32 8, i32 31)
  %s0 = extractvalue { i32, i1 } %s, 0
  %s1 = extractvalue { i32, i1 } %s, 1
  %ballot = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %s1)
  %ov = call { i32, i1 } @llvm.umul.with.overflow.i32(i32 %s0, i32 %ballot)
  %ov0 = extractvalue { i32, i1 } %ov, 0
  %ov1 = extractvalue { i32, i1 } %ov, 1
  %pick = select i1 %ov1, i32 %x, i32 %ov0
  store i32 %pick, ptr addrspace(1) %p
  %hv = load half, ptr addrspace(1) @one_half
  %hm = call half @llvm.maximum.f16(half %hv, half %h)
  store half %hm, ptr addrspace(1) @one_half
  %rp = getelementptr %record, ptr %rec, i32 0, i32 2
  %rd = load double, ptr %rp
  %v1 = extractelement <2 x i64> %v, i32 1
  %rot = call i64 @llvm.fshr.i64(i64 %v1, i64 %v1, i64 21)
  store i64 %rot, ptr addrspace(1) @loose
  switch i32 %x, label %leave [ i32 10, label %c0
    i32 11, label %c1
    i32 12, label %c2
    i32 13, label %c3
    i32 14, label %c0
    i32 15, label %c4 ]
c0:
  store <2 x i64> %v, ptr addrspace(1) %o
  br label %leave
c1:
  %f = fptrunc double %rd to float
  %e = call float @llvm.nvvm.ex2.approx.ftz.f(float %f)
  store float %e, ptr addrspace(1) %o
  br label %leave
c2:
  %gp = addrspacecast ptr addrspace(1) %p to ptr
  call void @ordered(ptr %gp)
  br label %leave
c3:
  br i1 %flag, label %die, label %leave
c4:
  %call = call i32 (ptr, ...) @printer(ptr null, i32 %x, double %rd, i64 7)
  store i32 %call, ptr addrspace(1) @common
  br label %leave
die:
  call void @llvm.trap()
  unreachable
leave:
  ret void
}
define internal void @ordered(ptr %p) noinline {
  %a = load atomic i32, ptr %p syncscope("device") acquire, align 4
  %b = atomicrmw sub ptr %p, i32 %a syncscope("block") monotonic
  %c = atomicrmw fadd ptr %p, float 1.5 monotonic
  %d = atomicrmw max ptr %p, i32 %b syncscope("device") acq_rel
  %e = cmpxchg ptr %p, i32 %d, i32 1 seq_cst monotonic
  %f = atomicrmw xchg ptr %p, i32 %d release
  store atomic i32 %f, ptr %p release, align 4
  fence syncscope("block") acq_rel
  fence seq_cst
  ret void
}
define <4 x i8> @bytes(<4 x i8> %a, <4 x i8> %b) {
  %c = sub <4 x i8> %a, %b
  %d = xor <4 x i8> %c, <i8 1, i8 2, i8 3, i8 4>
  ret <4 x i8> %d
}
define <2 x half> @halves(<2 x half> %a, <2 x half> %b) {
  %r = call <2 x half> @llvm.fma.v2f16(<2 x half> %a, <2 x half> %b, <2 x half> <half 1.0, half -0.5>)
  ret <2 x half> %r
}
define bfloat @brains(bfloat %a) {
  %b = load bfloat, ptr addrspace(1) @brain
  %c = fmul bfloat %a, %b
  ret bfloat %c
}
define i32 @through(ptr %fn, i32 %x, %record %r) {
  %a = call i32 %fn(i32 %x, %record %r, i64 5)
  ret i32 %a
}
define [2 x i128] @huge([2 x i128] %a) {
  %x = extractvalue [2 x i128] %a, 0
  %y = extractvalue [2 x i128] %a, 1
  %s = add i128 %x, %y
  %r = insertvalue [2 x i128] %a, i128 %s, 1
  ret [2 x i128] %r
}
define i16 @saturating(i16 %a, i16 %b) alwaysinline {
  %c = call i16 @llvm.sadd.sat.i16(i16 %a, i16 %b)
  %d = udiv i16 %c, 7
  ret i16 %d
}
declare i16 @llvm.sadd.sat.i16(i16, i16)
