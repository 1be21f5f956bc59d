import t from 'tap'
import { seeded } from '../../../fixtures/host/random.js'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import { FALLBACKS, OUTAGES, type Outage, Outages, type Part } from '../../../fixtures/vendors/outages.js'

/* Vendors that fail and recover at random, all at once. */

const CALLS = 60
const PARTS: readonly Part[] = ['speech_to_text', 'language_model', 'text_to_speech']
const LONGEST_SILENCE_MS = 3000

function randomPlan(random: () => number): Record<string, Outage> {
  const plan: Record<string, Outage> = {}
  for (const part of PARTS) {
    for (const vendor of ['main', 'second']) {
      const outage = OUTAGES[Math.floor(random() * OUTAGES.length * 3)]
      if (outage !== undefined) plan[`${part} ${vendor}`] = outage
    }
  }
  return plan
}

t.test('many calls through random outages', async (t) => {
  for (let seed = 1; seed <= CALLS; seed++) {
    const random = seeded(seed).next
    const outages = new Outages({})
    const rig = new ConversationRig({ vendors: outages.vendors, spec: FALLBACKS })
    await rig.start()
    const waits: number[] = []
    const plans: string[] = []
    for (let turn = 0; turn < 5 && rig.eventsOf('finished').length === 0; turn++) {
      outages.plan = randomPlan(random)
      plans.push(JSON.stringify(outages.plan))
      const ms = 400 + Math.floor(random() * 60) * 20
      rig.callerSound(100, { ms, text: `Question number ${turn + 1}?` })
      await rig.run(100 + ms)
      const endedMs = rig.nowMs
      await rig.until(() => rig.agentSounding || rig.eventsOf('finished').length > 0, 10_000)
      waits.push(rig.nowMs - endedMs)
      let quietMs = 0
      while (quietMs < 1500 && rig.eventsOf('finished').length === 0) {
        await rig.run(20)
        quietMs = rig.agentSounding ? 0 : quietMs + 20
      }
    }
    const wrong = waits.some((ms) => ms > LONGEST_SILENCE_MS)
    const left = rig.close()
    if (wrong || left > 0 || rig.openStreams > 0) {
      t.fail(
        `seed ${seed}: waits ${waits}, ${left} timers, ${rig.openStreams} streams\n${plans.join('\n')}\n${rig.eventSummary().join(' | ')}`,
      )
    }
  }
  t.pass(`${CALLS} calls`)
})
