/** The part of playwright-core that the tests use; the package is installed by `node scripts/browser/run.mjs` only. */
export interface Locator {
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  press(key: string): Promise<void>;
  count(): Promise<number>;
  first(): Locator;
  locator(selector: string, options?: { readonly hasText?: string | RegExp }): Locator;
  innerText(): Promise<string>;
  waitFor(options?: { readonly timeout?: number }): Promise<void>;
  isDisabled(): Promise<boolean>;
  selectOption(option: { readonly label: string }): Promise<unknown>;
}

export interface Page {
  goto(url: string): Promise<unknown>;
  locator(selector: string, options?: { readonly hasText?: string | RegExp }): Locator;
  evaluate<T>(expression: string): Promise<T>;
  screenshot(options: { readonly path: string }): Promise<unknown>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(options: { readonly colorScheme: "light" | "dark" }): Promise<void>;
  on(event: string, listener: (value: { text(): string; url(): string }) => void): void;
  close(): Promise<void>;
  keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
}

export interface Browser {
  newPage(options?: object): Promise<Page>;
  close(): Promise<void>;
}

/** Starts headless Chromium. */
export async function startBrowser(): Promise<Browser> {
  const { chromium } = await import(process.env["PLAYWRIGHT"] ?? "playwright-core");
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  return chromium.launch({ executablePath: process.env["CHROMIUM"], args, headless: true });
}
