import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import { FALLBACKS, OUTAGES, type OutagePlan, Outages, type Part } from '../../../fixtures/vendors/outages.js'

/* Every kind of vendor failure, for STT, LLM and TTS, with and without a fallback. */

const PARTS: readonly Part[] = ['speech_to_text', 'language_model', 'text_to_speech']
const TURNS = 4
/** Longer silence must have a cause. */
const LONGEST_SILENCE_MS = 3000

interface Heard {
  readonly rig: ConversationRig
  readonly outages: Outages
  /** Times (ms) from the end of each caller utterance to the agent's next audio, or the end of the call. */
  readonly waitsMs: readonly number[]
}

/** A caller who asks four times, each time after a second of silence. */
async function call(plan: OutagePlan, fallback: boolean): Promise<Heard> {
  const hearing = Object.keys(plan).some((key) => key.startsWith('speech_to_text'))
  // Recognition is opened with the call. The others fail after the preparation.
  const outages = new Outages(hearing ? plan : {})
  const rig = new ConversationRig({ vendors: outages.vendors, spec: fallback ? FALLBACKS : {} })
  await rig.start()
  outages.plan = plan
  outages.requests.length = hearing ? outages.requests.length : 0
  const waitsMs: number[] = []
  for (let turn = 0; turn < TURNS && rig.eventsOf('finished').length === 0; turn++) {
    rig.callerSound(100, { ms: 900, text: `Question number ${turn + 1}?` })
    await rig.run(1000)
    const endedMs = rig.nowMs
    await rig.until(() => rig.agentSounding || rig.eventsOf('finished').length > 0, 10_000)
    waitsMs.push(rig.nowMs - endedMs)
    let quietMs = 0
    for (let ms = 0; ms < 30_000 && quietMs < 1500 && rig.eventsOf('finished').length === 0; ms += 20) {
      await rig.run(20)
      quietMs = rig.agentSounding ? 0 : quietMs + 20
    }
  }
  return { rig, outages, waitsMs }
}

for (const part of PARTS) {
  for (const outage of OUTAGES) {
    t.test(`${part} ${outage}: the fallback takes over`, async (t) => {
      const { rig, outages, waitsMs } = await call({ [`${part} main`]: outage }, true)
      const wrong = `${JSON.stringify(rig.eventSummary())} ${waitsMs}`
      t.ok(Math.max(...waitsMs) <= LONGEST_SILENCE_MS, `waits ${waitsMs}`)
      t.equal(rig.eventsOf('finished').length, 0, `the call goes on: ${wrong}`)
      t.equal(rig.turns('caller').length, TURNS, wrong)
      const answered = rig.turns('agent').filter(({ heardText }) => /Answer/.test(heardText))
      // A model that breaks off in its answer is detected only then, twice.
      const unanswered = part === 'language_model' && outage === 'die' ? 2 : 0
      t.equal(answered.length, TURNS - unanswered, wrong)
      const takeover = rig.eventsOf('trouble').filter(({ instead }) => instead !== undefined)
      if (unanswered === 0) t.ok(takeover.length > 0 && takeover.every((event) => event.part === part), wrong)
      t.ok(outages.times(part, 'second') > 0)
      t.ok(outages.times(part, 'main') <= 4, `left alone after ${outages.times(part, 'main')} tries`)
      t.ok(
        waitsMs.at(-1) !== undefined && (waitsMs.at(-1) ?? 9999) <= 1300,
        `the last turn waits for nobody: ${waitsMs}`,
      )
      t.equal(rig.close(), 0, 'no timer left')
    })

    t.test(`${part} ${outage}: no fallback is configured`, async (t) => {
      const { rig, waitsMs } = await call({ [`${part} main`]: outage }, false)
      t.ok(
        Math.max(...waitsMs) <= LONGEST_SILENCE_MS,
        `waits ${waitsMs} ${JSON.stringify(rig.eventSummary())}`,
      )
      t.ok(rig.eventsOf('trouble').some((event) => event.part === part) || outage === 'slow', 'told')
      t.ok(rig.eventsOf('trouble').every(({ instead }) => instead === undefined || instead === 'embedded'))
      t.equal(rig.close(), 0, 'no timer left')
    })

    t.test(`${part} ${outage}: the fallback fails as well`, async (t) => {
      const plan = { [`${part} main`]: outage, [`${part} second`]: outage }
      const { rig, waitsMs } = await call(plan, true)
      t.ok(
        Math.max(...waitsMs) <= LONGEST_SILENCE_MS,
        `waits ${waitsMs} ${JSON.stringify(rig.eventSummary())}`,
      )
      t.equal(rig.close(), 0, 'no timer left')
    })
  }
}

t.test('a model with an open circuit is skipped, reported once', async (t) => {
  const { rig, outages } = await call({ 'language_model main': 'stall' }, true)
  t.same(
    rig.eventsOf('trouble').map(({ code, vendor, instead }) => [code, vendor, instead]),
    [
      ['vendor_stalled', 'main m', 'second m2'],
      ['vendor_stalled', 'main m', 'second m2'],
      ['vendor_unreachable', 'main m', 'second m2'],
    ],
  )
  t.equal(outages.times('language_model', 'main'), 2)
  t.equal(rig.close(), 0)
})
