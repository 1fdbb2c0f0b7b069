export function sectionOf(version: string, changelog?: string): string | undefined;
