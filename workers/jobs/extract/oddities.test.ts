import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../../media/base/project-root.js'
import { extract } from './extract.js'
import { damageOf, pagesText, readableBlocks } from './readable.js'
import { RefusedDocument } from './refused-document.js'

/* Documents of real programs: each file of the folder says what is odd and what is right. */

interface Case {
  readonly about: string
  readonly contentType: string
  /** The content: a file beside the case, a text, or bytes. */
  readonly file?: string
  readonly text?: string
  readonly base64?: string
  /** Texts of the blocks, and the levels of their headings. */
  readonly texts?: readonly string[]
  readonly levels?: readonly (number | null)[]
  /** Patterns of the reason of a refusal, and of the warnings. */
  readonly refused?: string
  readonly warnings?: string
}

const FOLDER = join(projectRoot, 'fixtures/oddities/documents')

function contentOf({ file, text, base64 }: Case): Uint8Array {
  if (file !== undefined) return readFileSync(join(FOLDER, file))
  return text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)
}

for (const name of readdirSync(FOLDER).filter((file) => file.endsWith('.json'))) {
  const given: Case = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))
  t.test(`${name}: ${given.about}`, async (t) => {
    const read = extract(given.contentType, contentOf(given))
    if (given.refused !== undefined) {
      const error: unknown = await read.then(
        () => null,
        (reason: unknown) => reason,
      )
      t.ok(error instanceof RefusedDocument)
      t.match(error, { message: new RegExp(given.refused) })
      return
    }
    const { blocks, warnings } = await read
    t.same(
      blocks.map(({ text }) => text),
      given.texts,
    )
    if (given.levels !== undefined) {
      t.same(
        blocks.map(({ level }) => level),
        given.levels,
      )
    }
    if (given.warnings === undefined) t.same(warnings, [])
    else t.match(warnings, [new RegExp(given.warnings)])
  })
}

t.test('a little damage in a long text does not refuse it', async (t) => {
  const words = 'We open at nine and close at six. '.repeat(10)
  t.equal(damageOf([`${words} caf\ufffd`]), null)
  t.equal(damageOf([`${words} caf\ufffd th\ufffd \ufffdn`]), 'unknown')
  t.equal(damageOf(['\0\0\0 \0\0']), 'unknown')
  t.equal(damageOf(['', ' ', '1 2 3', '— • –']), null)
  const block = { text: `${words}caf\0e`, level: null, page: 1 }
  t.same(readableBlocks([block]).blocks, [{ ...block, text: `${words}cafe` }])
})

t.test('pages with one damage make one sentence', async (t) => {
  const texts = ['We open at nine.', '\0\0', 'à¤¨à¤®', '\0\0\0', '\0', 'à¤«à¥€']
  const blocks = texts.map((text, n) => ({ text, level: null, page: n + 1 }))
  const sentences =
    /^The words of pages 2 and 4 to 5 cannot be read: the file does not say .*\. The words of pages 3 and 6 cannot be read: the text was saved .*\. They are left out\. Save /
  const read = readableBlocks(blocks)
  t.same(read.blocks, blocks.slice(0, 1))
  t.match(read.warnings, [sentences])
  t.throws(() => readableBlocks(blocks.slice(1)), {
    message: /pages 2 and 4 to 5 .* pages 3 and 6 .*\. Save /,
  })
})

t.test('pages in words', async (t) => {
  t.equal(pagesText([2]), 'page 2')
  t.equal(pagesText([2, 5, 7, 8, 9]), 'pages 2, 5 and 7 to 9')
  const odd = Array.from({ length: 500 }, (_, n) => 2 * n + 1)
  t.equal(pagesText(odd), 'pages 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23 and more')
})
