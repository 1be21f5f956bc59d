import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../media/base/project-root.js'
import { parseTrunkFile } from '../config/trunk-file.js'

t.test('every trunk file in docs/sip-trunks.md is valid', async (t) => {
  const text = readFileSync(join(projectRoot, 'docs', 'sip-trunks.md'), 'utf8')
  const examples = [...text.matchAll(/^( *)```json\n(.*?)^\1```/gms)].map((match) => match[2] ?? '')
  t.equal(examples.length, 8)
  for (const example of examples) {
    const { trunks } = parseTrunkFile(example, 'docs', {
      ACME_PASSWORD: 'x',
      OFFICE_PASSWORD: 'y',
      LINE_PASSWORD: 'z',
      BRANCH_PASSWORD: 'w',
    })
    t.equal(trunks.length, 1, trunks[0]?.name ?? '')
  }
})
