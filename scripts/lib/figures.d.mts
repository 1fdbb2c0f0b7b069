export function writeFigures(path: string, text: string, isAsked?: boolean): void;
