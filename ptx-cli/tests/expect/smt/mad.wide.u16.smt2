; mad.wide.u16 computes d = a * b + c
(define-fun mad.wide.u16 ((a (_ BitVec 16)) (b (_ BitVec 16)) (c (_ BitVec 32))) (_ BitVec 32)
  (bvadd (bvmul ((_ zero_extend 16) a) ((_ zero_extend 16) b)) c))
