//! Finite fields of small order.

/// A finite field of p^k elements: the numbers below its order, whose digits to the base p are the coefficients of a polynomial over the integers
/// modulo p. The product of two elements is that of the polynomials, modulo a polynomial of which x is a root and a primitive element.
#[derive(Clone, Debug)]
pub(super) struct Field {
    order: u32,
    /// The powers of the primitive element, from its power 0 to that of `order` - 2.
    powers: Vec<u16>,
    /// The exponent of each element; that of zero has no meaning.
    exponents: Vec<u16>,
    /// The difference of each element (row) and each other one.
    differences: Vec<u16>,
}

impl Field {
    /// Whether a field of this order exists: whether it is a power of a prime number.
    pub(super) fn exists(order: u32) -> bool {
        base(order).is_some()
    }

    /// Makes the field of an order that [exists](Self::exists) and is less than 2¹⁶. Takes two bytes for each pair of elements.
    pub(super) fn new(order: u32) -> Option<Self> {
        let base = base(order).filter(|_| order < 1 << 16)?;
        // Multiplies by x, where x^k is `top`.
        let shifted = |element: u32, top: u32| {
            let high = order / base;
            added(element % high * base, top, element / high, base)
        };
        let powers_of = |top: u32| {
            let mut powers = vec![1];
            while powers.len() < order as usize - 1 {
                let next = shifted(u32::from(powers[powers.len() - 1]), top);
                if next <= 1 {
                    return None;
                }
                powers.push(next as u16);
            }
            (shifted(u32::from(powers[powers.len() - 1]), top) == 1).then_some(powers)
        };
        let powers = (1..order).find_map(powers_of)?;
        let mut exponents = vec![0; order as usize];
        (0..).zip(&powers).for_each(|(exponent, &element)| exponents[usize::from(element)] = exponent);
        let differences = (0..order).flat_map(|a| (0..order).map(move |b| added(a, b, base - 1, base) as u16)).collect();
        Some(Self { order, powers, exponents, differences })
    }

    /// Returns a power of a primitive element.
    pub(super) fn power(&self, exponent: u32) -> u32 {
        u32::from(self.powers[(exponent % (self.order - 1)) as usize])
    }

    #[inline]
    pub(super) fn minus(&self, a: u32, b: u32) -> u32 {
        u32::from(self.differences[(a * self.order + b) as usize])
    }

    #[inline]
    pub(super) fn plus(&self, a: u32, b: u32) -> u32 {
        self.minus(a, self.minus(0, b))
    }

    #[inline]
    pub(super) fn times(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 { 0 } else { self.power(self.exponent(a) + self.exponent(b)) }
    }

    /// Divides by an element other than zero.
    #[inline]
    pub(super) fn over(&self, a: u32, b: u32) -> u32 {
        if a == 0 { 0 } else { self.power(self.exponent(a) + self.order - 1 - self.exponent(b)) }
    }

    fn exponent(&self, element: u32) -> u32 {
        u32::from(self.exponents[element as usize])
    }
}

/// Returns the prime number of which `order` is a power.
fn base(order: u32) -> Option<u32> {
    let prime = (2..=order.isqrt()).find(|&divisor| order.is_multiple_of(divisor)).unwrap_or(order);
    let mut rest = order;
    while rest > 1 && rest.is_multiple_of(prime) {
        rest /= prime;
    }
    (order > 1 && rest == 1).then_some(prime)
}

/// Returns `a + times * b`, digit by digit.
fn added(a: u32, b: u32, times: u32, base: u32) -> u32 {
    let (mut sum, mut place, mut a, mut b) = (0, 1, a, b);
    while a > 0 || b > 0 {
        sum += (a % base + times * (b % base)) % base * place;
        (place, a, b) = (place * base, a / base, b / base);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_exist_for_powers_of_prime_numbers() {
        let orders: Vec<u32> = (0..33).filter(|&order| Field::exists(order)).collect();
        assert_eq!(orders, [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]);
        assert!(!Field::exists(u32::MAX) && Field::exists(4_294_967_291));
    }

    #[test]
    fn the_laws_of_fields_hold() {
        for order in (2..33).filter(|&order| Field::exists(order)) {
            let field = Field::new(order).unwrap();
            for a in 0..order {
                assert_eq!([field.plus(a, 0), field.times(a, 1), field.minus(a, a)], [a, a, 0]);
                for b in 0..order {
                    assert_eq!(field.plus(a, b), field.plus(b, a));
                    assert_eq!(field.minus(field.plus(a, b), b), a);
                    assert_eq!(field.times(a, b), field.times(b, a));
                    assert!(b == 0 || field.times(field.over(a, b), b) == a, "{a} / {b} of {order}");
                    for c in 0..order {
                        assert_eq!(field.plus(field.plus(a, b), c), field.plus(a, field.plus(b, c)));
                        let (sum, products) = (field.plus(b, c), [b, c].map(|other| field.times(a, other)));
                        assert_eq!(field.times(a, sum), field.plus(products[0], products[1]), "{order}");
                    }
                }
            }
        }
    }
}
