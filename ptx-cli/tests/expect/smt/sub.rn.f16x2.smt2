; sub.rn.f16x2 computes d = a - b
(define-fun sub.rn.f16x2 ((a (_ BitVec 32)) (b (_ BitVec 32)) (undefined (_ BitVec 32))) (_ BitVec 32)
  (let ((t1 (fp.sub RNE ((_ to_fp 5 11) ((_ extract 15 0) a)) ((_ to_fp 5 11) ((_ extract 15 0) b)))))
  (let ((t2 (fp.sub RNE ((_ to_fp 5 11) ((_ extract 31 16) a)) ((_ to_fp 5 11) ((_ extract 31 16) b)))))
  (concat (ite (fp.isNaN t2) (bvor ((_ extract 31 16) undefined) #x7e00) (fp.to_ieee_bv t2)) (ite (fp.isNaN t1) (bvor ((_ extract 15 0) undefined) #x7e00) (fp.to_ieee_bv t1))))))
