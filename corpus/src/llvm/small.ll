; A small module that old and new LLVM versions accept: variadic call, packed halves, locals, loops, a weak function.
target triple = "nvptx64-nvidia-cuda"
@limit = addrspace(4) constant i32 100, align 4
@pool = internal addrspace(3) global [32 x i32] undef, align 4
@names = addrspace(1) constant [2 x [4 x i8]] [[4 x i8] c"one\00", [4 x i8] c"two\00"]
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.ctpop.i32(i32)
declare double @llvm.minnum.f64(double, double)
declare i32 @variadic(i32, ...)
define weak i32 @adjust(i32 %a) {
  %l = load i32, ptr addrspace(4) @limit
  %c = icmp sgt i32 %a, %l
  %r = select i1 %c, i32 %l, i32 %a
  ret i32 %r
}
define <2 x half> @mix(<2 x half> %a, half %b) {
  %v = insertelement <2 x half> %a, half %b, i32 1
  %s = fadd <2 x half> %a, %v
  ret <2 x half> %s
}
define void @count(ptr addrspace(1) %o, i32 %n) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %head ]
  %s = phi i32 [ 0, %entry ], [ %u, %head ]
  %p = getelementptr i32, ptr addrspace(1) %o, i32 %i
  %x = load i32, ptr addrspace(1) %p
  %k = call i32 @llvm.ctpop.i32(i32 %x)
  %u = add i32 %s, %k
  %j = add nuw i32 %i, 1
  %m = icmp ult i32 %j, %n
  br i1 %m, label %head, label %done
done:
  %q = getelementptr [32 x i32], ptr addrspace(3) @pool, i32 0, i32 %t
  store i32 %u, ptr addrspace(3) %q
  %a = call i32 @adjust(i32 %u)
  %v = call i32 (i32, ...) @variadic(i32 %a, i32 %t, double 2.0)
  store i32 %v, ptr addrspace(1) %o
  ret void
}
define double @smallest(ptr %d, i64 %n) {
  %g = getelementptr double, ptr %d, i64 %n
  %a = load double, ptr %d
  %b = load double, ptr %g, align 4
  %r = call double @llvm.minnum.f64(double %a, double %b)
  ret double %r
}
!nvvm.annotations = !{!0, !1}
!0 = !{ptr @count, !"kernel", i32 1}
!1 = !{ptr @count, !"maxntidx", i32 96}
