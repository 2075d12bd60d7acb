; setp.lt.and.f32 computes t = compare(.CmpOp, a, b); p = combine(.BoolOp, t, c); q = combine(.BoolOp, ~t, c)
(define-fun setp.lt.and.f32 ((a (_ BitVec 32)) (b (_ BitVec 32)) (c Bool)) Bool
  (and (fp.lt ((_ to_fp 8 24) a) ((_ to_fp 8 24) b)) c))
(define-fun setp.lt.and.f32.q ((a (_ BitVec 32)) (b (_ BitVec 32)) (c Bool)) Bool
  (and (not (fp.lt ((_ to_fp 8 24) a) ((_ to_fp 8 24) b))) c))
