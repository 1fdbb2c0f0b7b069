/** Removes the zeros at the end of digits. A regular expression would retry at each zero of a long number. */
export function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  return digits.slice(0, end);
}
