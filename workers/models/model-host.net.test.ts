import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { slowNetwork } from '../../fixtures/vendors/onnx-models.js'

const CHILD = fileURLToPath(new URL('../../fixtures/rigs/terminated-model-threads.js', import.meta.url))

function installed(): boolean {
  try {
    import.meta.resolve('onnxruntime-node')
    return true
  } catch {
    return false
  }
}

const skip = installed() ? false : 'onnxruntime-node, an optional dependency, is not installed'

t.test('terminating a media thread while its model runs does not end the process', { skip }, async (t) => {
  const path = join(t.testdir(), 'slow.onnx')
  writeFileSync(path, slowNetwork(128_000, 2000))
  const child = spawn(process.execPath, ['--enable-source-maps', CHILD, path], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString()
    })
  }
  const [code, signal] = await once(child, 'close')
  t.strictSame([code, signal], [0, null], said)
  t.match(said, '4 threads ended')
})
