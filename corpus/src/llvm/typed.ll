; LLVM 14 IR with typed pointers: kernels, address spaces, calls, switch, atomics, vectors, intrinsics.
target triple = "nvptx64-nvidia-cuda"
%pair = type { i32, double }
@table = addrspace(4) constant [6 x float] [float 1.0, float -2.5, float 0.0, float 1.0e10, float 0x3FB99999A0000000, float 7.0], align 4
@counter = addrspace(1) global i32 41, align 4
@words = internal addrspace(1) global <{ i8, i16, i32, i64 }> <{ i8 -1, i16 2, i32 3, i64 -4 }>, align 8
@where = addrspace(1) global i32 addrspace(1)* @counter, align 8
@second = addrspace(1) global float addrspace(4)* getelementptr ([6 x float], [6 x float] addrspace(4)* @table, i64 0, i64 2), align 8
@generic = addrspace(1) global i32* addrspacecast (i32 addrspace(1)* @counter to i32*), align 8
@tile = internal addrspace(3) global [128 x float] undef, align 16
@dynamic = external addrspace(3) global [0 x i32], align 4
@elsewhere = external addrspace(1) global [0 x i64], align 8
@soft = weak addrspace(1) global double 0x400921FB54442D18
@text = private addrspace(1) constant [6 x i8] c"hi %d\00"
@dispatch = addrspace(1) global [2 x float (float)*] [float (float)* @twice, float (float)* @square]

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.sqrt.f32(float)
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.fabs.f64(double)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i32 @llvm.bitreverse.i32(i32)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare void @llvm.memset.p1i8.i64(i8 addrspace(1)*, i8, i64, i1)
declare i64 @imported(i32, %pair*, [3 x i16])

define float @twice(float %x) noinline { 
  %y = fadd float %x, %x
  ret float %y
}
define float @square(float %x) noinline {
  %y = fmul float %x, %x
  ret float %y
}
define void @saxpy(i32 %n, float %a, float addrspace(1)* noalias %x, float addrspace(1)* align 16 %y) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %w = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %b, %w
  %i = add i32 %m, %t
  %in = icmp slt i32 %i, %n
  br i1 %in, label %work, label %done
work:
  %i64 = sext i32 %i to i64
  %px = getelementptr inbounds float, float addrspace(1)* %x, i64 %i64
  %py = getelementptr inbounds float, float addrspace(1)* %y, i64 %i64
  %vx = load float, float addrspace(1)* %px, align 4
  %vy = load float, float addrspace(1)* %py, align 4
  %r = call float @llvm.fma.f32(float %a, float %vx, float %vy)
  store float %r, float addrspace(1)* %py, align 4
  br label %done
done:
  ret void
}
define void @blockmax(float addrspace(1)* %io) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, float addrspace(1)* %io, i32 %t
  %v = load float, float addrspace(1)* %p
  %s = getelementptr [128 x float], [128 x float] addrspace(3)* @tile, i32 0, i32 %t
  store float %v, float addrspace(3)* %s
  br label %loop
loop:
  %d = phi i32 [ 64, %entry ], [ %half, %next ]
  call void @llvm.nvvm.barrier0()
  %active = icmp ult i32 %t, %d
  br i1 %active, label %body, label %next
body:
  %o = add i32 %t, %d
  %q = getelementptr [128 x float], [128 x float] addrspace(3)* @tile, i32 0, i32 %o
  %a = load float, float addrspace(3)* %s
  %b = load float, float addrspace(3)* %q
  %gt = fcmp ogt float %a, %b
  %mx = select i1 %gt, float %a, float %b
  store float %mx, float addrspace(3)* %s
  br label %next
next:
  %half = lshr i32 %d, 1
  %more = icmp ne i32 %half, 0
  br i1 %more, label %loop, label %out
out:
  %z = load float, float addrspace(3)* %s
  %k = and i32 %t, 3
  %c = getelementptr [6 x float], [6 x float] addrspace(4)* @table, i32 0, i32 %k
  %cv = load float, float addrspace(4)* %c
  %res = fmul float %z, %cv
  store float %res, float addrspace(1)* %p
  ret void
}
define void @choose(i32 addrspace(1)* %o, i32 %k, <4 x float> %v, %pair* byval(%pair) %in) {
entry:
  %dd = getelementptr %pair, %pair* %in, i32 0, i32 1
  %d = load double, double* %dd
  %abs = call double @llvm.fabs.f64(double %d)
  switch i32 %k, label %other [ i32 0, label %a
                                i32 1, label %b
                                i32 2, label %c
                                i32 5, label %a
                                i32 100, label %b ]
a:
  %f = fptosi double %abs to i32
  store i32 %f, i32 addrspace(1)* %o
  ret void
b:
  %e = extractelement <4 x float> %v, i32 2
  %g = bitcast float %e to i32
  %h = call i32 @llvm.bitreverse.i32(i32 %g)
  %h2 = call i32 @llvm.fshl.i32(i32 %h, i32 %g, i32 %k)
  store i32 %h2, i32 addrspace(1)* %o
  ret void
c:
  %vp = bitcast i32 addrspace(1)* %o to <4 x float> addrspace(1)*
  store <4 x float> %v, <4 x float> addrspace(1)* %vp, align 16
  ret void
other:
  %old = atomicrmw add i32 addrspace(1)* @counter, i32 %k monotonic
  %bp = bitcast i32 addrspace(1)* %o to i8 addrspace(1)*
  call void @llvm.memset.p1i8.i64(i8 addrspace(1)* %bp, i8 0, i64 24, i1 false)
  %slot = getelementptr [2 x float (float)*], [2 x float (float)*] addrspace(1)* @dispatch, i32 0, i32 1
  %fn = load float (float)*, float (float)* addrspace(1)* %slot
  %called = call float %fn(float 3.0)
  %ci = fptoui float %called to i32
  %sum = add i32 %ci, %old
  store i32 %sum, i32 addrspace(1)* %o
  ret void
}
define i64 @locals(i32 %n, i16 %s) {
  %buf = alloca [16 x i64], align 8
  %p = alloca %pair, align 8
  %i = and i32 %n, 15
  %q = getelementptr [16 x i64], [16 x i64]* %buf, i32 0, i32 %i
  store volatile i64 99, i64* %q
  %x = load volatile i64, i64* %q
  %z = call i64 @llvm.ctlz.i64(i64 %x, i1 false)
  %arr = insertvalue [3 x i16] undef, i16 %s, 1
  %r = call i64 @imported(i32 %n, %pair* %p, [3 x i16] %arr)
  %t = add i64 %r, %z
  ret i64 %t
}
define i128 @wide(i128 %a, i64 %b) {
  %c = zext i64 %b to i128
  %d = mul i128 %a, %c
  %e = ashr i128 %d, 3
  ret i128 %e
}
define i1 @narrow(i8 %a, i1 %b) {
  %c = icmp ugt i8 %a, 17
  %d = and i1 %b, %c
  ret i1 %d
}
!nvvm.annotations = !{!0, !1, !2, !3, !4}
!0 = !{void (i32, float, float addrspace(1)*, float addrspace(1)*)* @saxpy, !"kernel", i32 1}
!1 = !{void (float addrspace(1)*)* @blockmax, !"kernel", i32 1}
!2 = !{void (float addrspace(1)*)* @blockmax, !"maxntidx", i32 128, !"minctasm", i32 2}
!3 = !{void (i32 addrspace(1)*, i32, <4 x float>, %pair*)* @choose, !"kernel", i32 1}
!4 = !{void (i32 addrspace(1)*, i32, <4 x float>, %pair*)* @choose, !"reqntidx", i32 32, !"reqntidy", i32 2, !"reqntidz", i32 1}
