/** Digits without the zeros at their end. No regular expression: it would be tried at each zero of a long number. */
export function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
