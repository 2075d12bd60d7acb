; fma.rn.ftz.relu.f16 computes d = if .oob & ((a != a) | (b != b) | (c != c)) then undefined else a * b + c
(define-fun fma.rn.ftz.relu.f16 ((a (_ BitVec 16)) (b (_ BitVec 16)) (c (_ BitVec 16)) (undefined (_ BitVec 16))) (_ BitVec 16)
  (let ((t1 ((_ to_fp 5 11) (ite (fp.isSubnormal ((_ to_fp 5 11) a)) (bvand a #x8000) a))))
  (let ((t2 ((_ to_fp 5 11) (ite (fp.isSubnormal ((_ to_fp 5 11) b)) (bvand b #x8000) b))))
  (let ((t3 ((_ to_fp 5 11) (ite (fp.isSubnormal ((_ to_fp 5 11) c)) (bvand c #x8000) c))))
  (let ((t4 (fp.fma RNE t1 t2 t3)))
  (let ((t5 (fp.to_ieee_bv t4)))
  (let ((t6 (ite (fp.lt (fp.abs (fp.fma RNE ((_ to_fp 6 11) RNE t1) ((_ to_fp 6 11) RNE t2) ((_ to_fp 6 11) RNE t3))) ((_ to_fp 6 11) RNE ((_ to_fp 5 11) #x0400))) (bvand t5 #x8000) t5)))
  (ite (fp.isNaN t4) (bvor undefined #x7e00) (ite (= t6 #x8000) (bvand undefined #x8000) (ite (= ((_ extract 15 15) t6) #b1) #x0000 t6))))))))))
