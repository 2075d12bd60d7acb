; div.s32 computes d = if b == 0 then undefined else if a / b > highest(d) then undefined else a / b
(define-fun div.s32 ((a (_ BitVec 32)) (b (_ BitVec 32)) (undefined (_ BitVec 32))) (_ BitVec 32)
  (let ((t1 (bvsdiv ((_ sign_extend 1) a) ((_ sign_extend 1) b))))
  (ite (= b #x00000000) undefined (ite (bvslt (_ bv2147483647 33) t1) undefined ((_ extract 31 0) t1)))))
