; shf.l.clamp.b32 computes n = if .clamp then min(c, 32) else c & 31; d = ((b << 32 | a) << n) >> 32
(define-fun shf.l.clamp.b32 ((a (_ BitVec 32)) (b (_ BitVec 32)) (c (_ BitVec 32))) (_ BitVec 32)
  ((_ extract 31 0) ((_ extract 95 32) (bvshl ((_ zero_extend 32) (bvor (bvshl ((_ zero_extend 32) b) #x0000000000000020) ((_ zero_extend 32) a))) ((_ zero_extend 90) ((_ extract 5 0) (ite (bvult c #x00000020) c #x00000020)))))))
