// The text of a document in a package, which has only some of the files that the documents of the repository link to.
import { posix } from "node:path";

// Code is left as it is: its brackets are no links.
const CODE_OR_LINK =
  /^(?<fence>```|~~~)[\s\S]*?^\k<fence>|`[^`\n]*`|(?<mark>!?)\[(?<label>[^[\]]*)\]\((?<target>[^()\s]+)\)/gm;

/** Where a code host shows the files of this version, as in a package.json; undefined without a repository. */
export function filesAt({ repository, version }) {
  const url = (repository?.url ?? repository)?.replace(/^git\+|\.git$/g, "");
  return url && `${url}/blob/v${version}`;
}

/**
 * Returns the document with links that lead somewhere: to a file that is `packed`, else to the code host, or, without
 * one, with the label alone.
 */
export function packedText(text, path, packed, host) {
  return text.replace(CODE_OR_LINK, (whole, ...found) => {
    const { mark, label, target } = found.at(-1);
    if (target === undefined || /^[a-z][a-z+.-]*:|^#/i.test(target)) return whole;
    const [file, anchor] = target.split("#");
    const to = posix.join(posix.dirname(path), file);
    if (packed.includes(to)) return whole;
    if (mark === "!") return `(picture: ${label})`;
    return host ? `[${label}](${host}/${to}${anchor ? `#${anchor}` : ""})` : label;
  });
}
