/*
 * Time that the search of knowledge adds to a turn, on the virtual clock: the questions of the project are spoken word by
 * word to a whole conversation, once without knowledge, once with a search by words, and with searches by meaning whose
 * vendor takes a certain time. `npm run build`, then `node dist/bench/knowledge/turn-wait.js`.
 */

import { seeded } from '../../fixtures/host/random.js'
import { ConversationRig } from '../../fixtures/rigs/conversation-rig.js'
import type { ToolSpec } from '../../media/agent/agent-spec.js'
import { plainWords } from '../../media/agent/language/plain-words.js'
import { KNOWLEDGE_TOOL } from '../../media/agent/llm/retrieval.js'
import { percentile } from '../lib/statistics.js'
import { readQuestionSet } from './question-set.js'

const TURNS = 100
const WORD_MS = 350
/** A recogniser's partial words come so long after they were said, its final words after the end of speech. */
const PARTIAL_LAG_MS = 200
const FINAL_AFTER_MS = 150
/** Time of a search by words, with its way to the search thread and back. */
const WORDS_MS = 5
/** Median times of an embeddings vendor. The slowest twentieth takes two and a half times as long. */
const VENDOR_MS = [50, 100, 200, 300, 400, 600]
const SPREAD = Math.log(2.5) / 1.645
/** The clock is read in whole frames by some parts. */
const NOTHING_MS = 0.5

const KNOWLEDGE: ToolSpec = {
  name: KNOWLEDGE_TOOL,
  description: '',
  parameters: [],
  speech: {},
  action: { kind: 'knowledge', bases: [{ id: 'kb_1', buildId: 'bld_1' }] },
}

interface Turn {
  /** When the model was asked. */
  readonly askedMs: number
  readonly byMeaning: boolean
}

/** Speaks one question. `vendorMs` null searches by words only, undefined has no knowledge. */
async function turnOf(text: string, vendorMs: number | null | undefined): Promise<Turn> {
  let askedMs: number | null = null
  const rig = new ConversationRig({
    spec: { tools: vendorMs === undefined ? [] : [KNOWLEDGE] },
    vendors: (own, { clock }) => ({
      ...own,
      languageModel: (id) => {
        const model = own.languageModel(id)
        return {
          ...model,
          generate: (request, events) => {
            askedMs ??= clock.now()
            return model.generate(request, events)
          },
        }
      },
    }),
  })
  await rig.start()
  const startedAt = rig.clock.now()
  const words = text.split(' ')
  rig.callerSound(200, {
    ...{ ms: words.length * WORD_MS, text, finalAfterMs: FINAL_AFTER_MS },
    partials: words.map(
      (_, at) => [(at + 1) * WORD_MS - 60 + PARTIAL_LAG_MS, words.slice(0, at + 1).join(' ')] as const,
    ),
  })
  let answered = 0
  /** Questions of this turn whose vectors the service keeps. */
  const known = new Set<string>()
  const isNear = (query: string): boolean => {
    const count = query.split(' ').length
    return [...known].some(
      (text) => query.startsWith(text) && text.split(' ').length >= Math.max(count - 3, 0.6 * count),
    )
  }
  const isAsked = (): boolean => {
    for (const { request, done } of rig.toolRequests.slice(answered)) {
      answered++
      const query = plainWords(String(request.arguments.query)).join(' ')
      const exact = request.arguments.vectors === true
      const near = !exact && vendorMs !== null && isNear(query)
      const meaning = exact || near
      const passage = {
        ...{ text: meaning ? 'By meaning.' : 'By words.', heading: '', page: null, documentName: 'a' },
        ...{ documentId: 'doc_1', knowledgeBaseId: 'kb_1', index: 0, score: 0.8 },
      }
      const result = JSON.stringify({ passages: [passage], more: !exact && vendorMs !== null, near })
      const takesMs = exact ? spread(vendorMs ?? 0) : 0
      rig.after(takesMs, () => {
        if (exact) known.add(query)
      })
      rig.after(takesMs + WORDS_MS, () => done(result))
    }
    return askedMs !== null
  }
  await rig.until(isAsked)
  const byMeaning = JSON.stringify(rig.requests[0]?.messages).includes('By meaning')
  rig.close()
  return { askedMs: (askedMs ?? 0) - startedAt, byMeaning }
}

const random = seeded(7)

/** Returns a time around a median, log-normal. */
function spread(medianMs: number): number {
  return medianMs * Math.exp(SPREAD * random.normal())
}

const texts = readQuestionSet()
  .questions.map(({ text }) => text)
  .filter((text) => text.split(' ').length >= 4)
const step = Math.max(1, Math.floor(texts.length / TURNS))
const spoken = texts.filter((_, at) => at % step === 0).slice(0, TURNS)
const without: Turn[] = []
for (const text of spoken) without.push(await turnOf(text, undefined))
process.stdout.write(
  '| Search | Turns | Nothing added | Added p50 | p90 | p99 | Passages by meaning |\n|---|---|---|---|---|---|---|\n',
)
for (const vendorMs of [null, ...VENDOR_MS]) {
  const turns: Turn[] = []
  for (const text of spoken) turns.push(await turnOf(text, vendorMs))
  const added = turns.map(({ askedMs }, at) => askedMs - (without[at]?.askedMs ?? 0))
  const share = (count: number): string => `${Math.round((100 * count) / turns.length)} %`
  const cells = [
    vendorMs === null ? 'by words' : `by meaning, median ${vendorMs} ms`,
    String(turns.length),
    share(added.filter((ms) => ms < NOTHING_MS).length),
    ...[0.5, 0.9, 0.99].map((part) => `${Math.round(percentile(added, part))} ms`),
    vendorMs === null ? '-' : share(turns.filter(({ byMeaning }) => byMeaning).length),
  ]
  process.stdout.write(`| ${cells.join(' | ')} |\n`)
}
