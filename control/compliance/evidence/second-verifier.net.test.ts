import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { exportedChain } from '../../../fixtures/evidence/chain.js'
import { projectRoot } from '../../../media/base/project-root.js'

// fixtures/evidence/verify.py was written from docs/evidence.md.
const script = join(projectRoot, 'fixtures/evidence/verify.py')
const hasPython = spawnSync('python3', ['--version']).status === 0

t.test(
  'a verifier in another language finds the same',
  { skip: hasPython ? false : 'python3 is not installed' },
  async (t) => {
    const folder = t.testdir({})
    const verify = (bytes: Uint8Array): string => {
      const file = join(folder, 'chain.jsonl')
      writeFileSync(file, bytes)
      return spawnSync('python3', [script, file], { encoding: 'utf8' }).stdout.trim()
    }
    const whole = exportedChain({ records: 4, rotateAfter: 2, erase: 3 })
    t.match(verify(whole), /^VALID 6 6:[0-9a-f]{64}$/)
    const [header, a, b, c, d, ...rest] = whole.toString().trimEnd().split('\n')
    const fileOf = (...lines: (string | undefined)[]) =>
      Buffer.from(`${[header, ...lines, ...rest].join('\n')}\n`)
    t.equal(verify(fileOf(a, b?.replace('call_2', 'call_9'), c, d)), '2 altered')
    t.equal(verify(fileOf(a, c, d)), '2 records_missing')
    t.equal(verify(fileOf(a, c, b, d)).split('\n')[0], '2 records_missing')
    t.equal(verify(fileOf(a, b, b, c, d)), '2 wrong_position')
    t.equal(verify(fileOf(a?.replace('+919876543210', '+919876543211'), b, c, d)), '1 person_altered')
    t.match(verify(exportedChain({ records: 2, rotateAfter: 1 })), /^VALID 3 /)
    const signed = /"signature":"(.)/.exec(a ?? '')?.[1] === 'A' ? 'B' : 'A'
    t.equal(verify(fileOf(a?.replace(/("signature":")./, `$1${signed}`), b, c, d)), '1 wrong_signature')
    const closing = (gate: number) => exportedChain({ records: 2, close: { firstSeq: 1, counts: { gate } } })
    t.match(verify(closing(2)), /^VALID 3 /)
    t.equal(verify(closing(3)), '3 count_differs')
    t.match(verify(Buffer.from(`${[header, a, b].join('\n')}\n`)), /head_missing$/)
  },
)
