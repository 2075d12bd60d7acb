; addc.cc.u32 computes t = unsigned(a, a) + unsigned(b, b) + carry; d = t; carry = t >> width(d)
(define-fun addc.cc.u32 ((a (_ BitVec 32)) (b (_ BitVec 32)) (carry Bool)) (_ BitVec 32)
  (bvadd (bvadd a b) ((_ zero_extend 31) (ite carry #b1 #b0))))
(define-fun addc.cc.u32.carry ((a (_ BitVec 32)) (b (_ BitVec 32)) (carry Bool)) Bool
  (= ((_ extract 32 32) (bvadd (bvadd ((_ zero_extend 1) a) ((_ zero_extend 1) b)) ((_ zero_extend 32) (ite carry #b1 #b0)))) #b1))
