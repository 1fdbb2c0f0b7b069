// The results of `node scripts/engines/run.mjs` as text. Pure.

const NOT_CREATED = "`createTable` fails.";

const failedIn = ({ findings }) => findings.filter(({ level }) => level !== "ok");

function checksText({ findings }) {
  const passed = findings.length - failedIn({ findings }).length;
  return `${passed} of ${findings.length}`;
}

const testsText = (suite) =>
  suite === undefined ? "—" : `${suite.passed} passed, ${suite.failed.length} failed`;

/** One engine on one line. */
export function summaryOf({ name, version, seconds, missing, diagnosis, conformance, processes }) {
  if (missing !== undefined) return `${name}: not installed: ${missing}`;
  const { isFit, problems } = diagnosis;
  const verdict = isFit ? "fit" : `NOT fit (${problems.join(", ")})`;
  const tests = [
    ...(conformance === undefined ? [] : [`conformance ${testsText(conformance)}`]),
    ...(processes === undefined ? [] : [`processes ${testsText(processes)}`]),
  ];
  const parts = [verdict, `checks ${checksText(diagnosis)}`, ...tests, `${seconds} s`];
  return `${name} ${version}: ${parts.join("; ")}`;
}

const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const row = (cells) => `| ${cells.map(cell).join(" | ")} |`;

function differences({ isCreated, findings }) {
  const found = findings.filter(({ level }) => level !== "ok");
  const texts = [
    ...(isCreated ? [] : [NOT_CREATED]),
    ...found.map(({ check, message }) => `\`${check}\`: ${message}`),
  ];
  return texts.length === 0 ? "nothing" : texts.join(" ");
}

function consequences({ findings }) {
  const texts = [...new Set(failedIn({ findings }).map(({ consequence }) => consequence))];
  return texts.length === 0 ? "nothing" : texts.join(" ");
}

function failedTests({ name, conformance, processes }) {
  const failed = [...(conformance?.failed ?? []), ...(processes?.failed ?? [])];
  if (failed.length === 0) return [];
  const files = [...new Set(failed.map(({ file }) => file))].sort();
  const counts = files.map((file) => {
    const count = failed.filter((each) => each.file === file).length;
    return `\`${file}\` ${count}`;
  });
  return [`- ${name}: ${counts.join(", ")}`];
}

/** The table of all engines, and the failed tests by file. */
export function tableOf(rows) {
  const heading = ["engine", "version", "verdict", "checks", "conformance", "processes"];
  const judged = rows.filter(({ missing }) => missing === undefined);
  const lines = rows.map(({ name, version, missing, diagnosis, conformance, processes }) =>
    missing === undefined
      ? row([
          name,
          version,
          diagnosis.isFit ? "fit" : "**NOT fit**",
          checksText(diagnosis),
          testsText(conformance),
          testsText(processes),
        ])
      : row([name, "—", `not installed: ${missing}`, "—", "—", "—"]),
  );
  return [
    row(heading),
    row(heading.map(() => "---")),
    ...lines,
    "",
    row(["engine", "what differs", "what does not work"]),
    row(["---", "---", "---"]),
    ...judged.map(({ name, diagnosis }) =>
      row([name, differences(diagnosis), consequences(diagnosis)]),
    ),
    "",
    "Failed tests by file, with those that did not run because their set-up failed:",
    "",
    ...judged.flatMap(failedTests),
  ].join("\n");
}

const BEGIN = "<!-- engines: begin -->";
const END = "<!-- engines: end -->";

/** The page with this table in place of the former. */
export function pageWith(page, made, table) {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`The page has no ${BEGIN} and ${END}.`);
  return `${before}${BEGIN}\n\n${made}.\n\n${table}\n\n${END}${after}`;
}
