// Prints the tests of each numbered rule: node scripts/rules.mjs [RULE ...], for example `R4 "protocol 16"`. For
// R1 to R14 the script also prints the known-bad variants that break the rule, each with the invariant or test
// that catches the variant, and the mutants of the models. Writes nothing: a test names its rules in a comment.
import { pathToFileURL } from "node:url";
import { bundled } from "./lib/bundle.mjs";
import { MODELS } from "./lib/models.mjs";
import { ROOT } from "./lib/projects.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";
import { DOCUMENTS, rulesOf, taggedTests } from "./lib/rules.mjs";

await onDevelopmentNode();

async function loadVariants() {
  const file = await bundled("verification/variants/all.ts");
  const { VARIANTS } = await import(pathToFileURL(file));
  return VARIANTS;
}

const asked = process.argv.slice(2);
const known = new Set(DOCUMENTS.flatMap((document) => rulesOf(ROOT, document)).map(({ id }) => id));
for (const rule of asked) if (!known.has(rule)) throw new Error(`There is no rule "${rule}".`);
const tests = taggedTests(ROOT);
const variants = await loadVariants();

const code = (text) => `\`${text.replaceAll("|", "\\|")}\``;
const list = (parts) => [...new Set(parts)].join("<br>");
const testsOf = (id) =>
  tests.filter(({ rule }) => rule === id).map(({ file, title }) => `${code(file)} "${title}"`);
const catcherOf = ({ invariant, of, test }) =>
  invariant === undefined ? code(test) : [invariant, of].filter(Boolean).join(", of ");
const variantsOf = (id) =>
  variants
    .filter(({ rules }) => rules.includes(id))
    .map(({ name, caughtBy }) => `${code(name)}: ${catcherOf(caughtBy)}`);
const mutantsOf = (id) =>
  MODELS.flatMap(({ name, mutants }) =>
    mutants
      .filter((mutant) => mutant.name.split("_")[0] === id)
      .map((mutant) => `${code(mutant.name)} of ${name}.pml: ${mutant.breaks}`),
  );

for (const document of DOCUMENTS) {
  const rules = rulesOf(ROOT, document).filter(
    ({ id }) => asked.length === 0 || asked.includes(id),
  );
  if (rules.length === 0) continue;
  const hasVariants = rules.some(({ id }) => variantsOf(id).length > 0);
  const more = hasVariants ? ["variants that break it, and what catches them", "models"] : [];
  const head = ["rule", "what it says", "shown by", ...more];
  const rows = rules.map(({ id, rule }) => [
    id,
    rule,
    list(testsOf(id)),
    ...(hasVariants ? [list(variantsOf(id)), list(mutantsOf(id))] : []),
  ]);
  console.log(`## ${document.path}\n`);
  for (const row of [head, head.map(() => "---"), ...rows]) console.log(`| ${row.join(" | ")} |`);
  console.log();
}
