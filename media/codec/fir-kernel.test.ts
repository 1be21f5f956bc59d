import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import wabt from 'wabt'
import { projectRoot } from '../base/project-root.js'
import { FIR_KERNEL_WASM } from './fir-kernel-wasm.js'

t.test('fir-kernel-wasm.ts matches the compiled fir-kernel.wat', async (t) => {
  const source = readFileSync(join(projectRoot, 'media/codec/fir-kernel.wat'), 'utf8')
  const { parseWat } = await wabt()
  const { buffer } = parseWat('fir-kernel.wat', source, { simd: true }).toBinary({})
  t.equal(Buffer.from(buffer).toString('base64'), FIR_KERNEL_WASM, 'else run deploy/build-wasm.mjs')
})
