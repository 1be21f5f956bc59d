// Compiles media/codec/fir-kernel.wat to media/codec/fir-kernel-wasm.ts. Run it after a change of the .wat file.
import { readFileSync, writeFileSync } from 'node:fs'
import wabt from 'wabt'

const source = new URL('../media/codec/fir-kernel.wat', import.meta.url)
const target = new URL('../media/codec/fir-kernel-wasm.ts', import.meta.url)
const { parseWat } = await wabt()
const module = parseWat('fir-kernel.wat', readFileSync(source, 'utf8'), { simd: true })
const text = Buffer.from(module.toBinary({}).buffer).toString('base64')
const lines = text.match(/.{1,96}/g).map((line) => `  '${line}',`)
writeFileSync(
  target,
  `/** The compiled fir-kernel.wat, in base64. Written by deploy/build-wasm.mjs. */\nexport const FIR_KERNEL_WASM = [\n${lines.join('\n')}\n].join('')\n`,
)
