// Compares the result of an engine with what engines.mjs expects. Pure.

/** What is wrong with the result of an engine, against the list; undefined if nothing is. */
export function faultOf(
  { isRequired, isFit, differs },
  { missing, diagnosis, conformance, processes },
) {
  if (missing !== undefined) return isRequired ? missing : undefined;
  if (isFit !== undefined && diagnosis.isFit !== isFit) {
    return `the verdict is ${diagnosis.isFit ? "fit" : "NOT fit"}, not as expected`;
  }
  if (!diagnosis.isFit) return undefined;
  const failed = [...(conformance?.failed ?? []), ...(processes?.failed ?? [])];
  const isExpected = ({ title }) => (differs ?? []).some((begin) => title.startsWith(begin));
  const unexpected = failed.filter((each) => !isExpected(each));
  if (unexpected.length === 0) return undefined;
  const titles = unexpected.map(({ file, title }) => `${file}: ${title}`);
  return ["tests failed unexpectedly:", ...titles].join("\n          ");
}
