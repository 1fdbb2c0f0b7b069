/**
 * Removes the zeros at the end of digits. A regular expression would start a match at each zero, which takes seconds
 * for a long row of zeros before another digit.
 */
export function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
