/** Names the options of a command in messages of the library, which names its own. */

/** The options of commands whose names differ from the library's. */
const NAMES: Readonly<Record<string, string>> = {
  keys: "--sk",
  partitionKeyName: "--pk",
  poll: "--standby-poll",
  prefixes: "--prefix",
  rings: "--ring",
  sortKeyName: "--sk",
};

/** Texts about arguments that a command takes in another form. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [
    /must be milliseconds or a string such as "30s"/,
    "must be a duration with its unit, such as 30s",
  ],
  [/`(host|port)` of ring\(\)/, "The $1 of --ring"],
  [/`rings` of diagnose\(\)/, "`rings`"],
  [/An instant is one of `at`\./, "An instant is no cron expression."],
];

const SORT_TEXTS: readonly (readonly [RegExp, string])[] = [
  [
    /^The name of a lock must be a string: .*/,
    "--sort needs a table of another client, by --format and --sk, with a sort key in names. Leave --sort out.",
  ],
  [
    /^The name of a lock must be \[partitionKey, sortKey\]: .*/,
    "With --format and --sk a name has two parts. Add --sort.",
  ],
];

// With a member, as in `dynamodb.timeout`, or with a value, as in `overlap: "wait"`.
const OPTION = /`([a-z]\w*)(?:\.(\w+))?(?:: "([\w-]+)")?`/gi;

/** Names the options of a command, such as `--lease`, in place of the library's. Pure. */
export function inOwnOptions(message: string, own: ReadonlySet<string>): string {
  const flagFor = (name: string | undefined): string | undefined => {
    if (name === undefined) return undefined;
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return [flag, NAMES[name] ?? ""].find((each) => own.has(each));
  };
  return [...TEXTS, ...(own.has("--sort") ? SORT_TEXTS : [])]
    .reduce((text, [found, said]) => text.replace(found, said), message)
    .replace(OPTION, (text: string, name: string, member?: string, value?: string) => {
      const flag = flagFor(member) ?? flagFor(name);
      if (flag === undefined) return text;
      return value === undefined ? flag : `${flag} ${value}`;
    })
    .replace(/\bthe options? (?=--)/gi, "");
}
