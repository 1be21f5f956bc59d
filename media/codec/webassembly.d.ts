/** What of WebAssembly is used here: Node has it, the types of Node leave it to those of browsers. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module)
    readonly exports: Readonly<Record<string, unknown>>
  }
  function validate(bytes: Uint8Array): boolean
}
