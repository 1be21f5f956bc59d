/** The optional package that speaks the embedded voices (GPL-3.0). */
export const ESPEAK_PACKAGE = '@echogarden/espeak-ng-emscripten'

/** Returns whether the optional package is installed. Does not load it. */
export function isEspeakInstalled(
  resolve: (name: string) => unknown = (name) => import.meta.resolve(name),
): boolean {
  try {
    resolve(ESPEAK_PACKAGE)
    return true
  } catch {
    return false
  }
}
