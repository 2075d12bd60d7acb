; add.sat.s32 computes d = a + b
(define-fun add.sat.s32 ((a (_ BitVec 32)) (b (_ BitVec 32))) (_ BitVec 32)
  (let ((t1 (bvadd ((_ sign_extend 1) a) ((_ sign_extend 1) b))))
  (let ((t2 (ite (bvslt t1 (_ bv6442450944 33)) (_ bv6442450944 33) t1)))
  ((_ extract 31 0) (ite (bvslt t2 (_ bv2147483647 33)) t2 (_ bv2147483647 33))))))
