import { Agent, request as httpRequest } from 'node:http'
import { TEST_AGENT } from '../../fixtures/service/service.js'
import { type ServiceProcess, startServiceProcess } from '../../fixtures/service/service-process.js'
import { figure, type Measured } from '../lib/figures.js'
import { rounded } from '../lib/statistics.js'

const PLENTY = 1_000_000
const CSV = 'text/csv'
const JSON_TYPE = 'application/json'

interface Attack {
  readonly path: string
  readonly type: string
  readonly body: string
}

/** Bodies that are made to keep the service busy. */
function attacks(campaign: string): Readonly<Record<string, Attack>> {
  const variables = (count: number): string =>
    `{${Array.from({ length: count }, (_, i) => `"v${i}":${i}`).join(',')}}`
  const call = (count: number): Attack => ({
    path: '/v1/calls',
    type: JSON_TYPE,
    body: `{"to":"+919800000001","numberId":"x","variables":${variables(count)}}`,
  })
  const list = (body: string): Attack => ({
    path: `/v1/campaigns/${campaign}/recipients/import`,
    type: CSV,
    body,
  })
  const row = `{"e164":1,"variables":${variables(40)}}`
  return {
    variables: call(20_000),
    wrongVariables: call(9_000),
    recipients: {
      path: `/v1/campaigns/${campaign}/recipients`,
      type: JSON_TYPE,
      body: `{"recipients":[${Array.from({ length: 1_000 }, () => row).join(',')}]}`,
    },
    rows: list(`e164,name\n${'12345,x\n'.repeat(1_000_000)}`),
    wrongRows: list(`e164,name\n${'12345,x\n'.repeat(100_000)}`),
    columns: list(
      `${Array.from({ length: 8_000 }, (_, i) => `c${i}`).join(',')}\n${`${','.repeat(300)}\n`.repeat(30_000)}`,
    ),
  }
}

/** Measures the longest silence (ms) of `/v1/health` while the service is sent bodies that are made to keep it busy. */
export async function measureStopByInput(): Promise<Measured[]> {
  const service = await startServiceProcess({
    requestsPerMinute: PLENTY,
    env: { PARLEY_MEDIA_WORKERS: '1' },
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  try {
    const campaign = await openCampaign(service)
    const silences: Record<string, number> = {}
    for (const [name, attack] of Object.entries(attacks(campaign))) {
      silences[`${name}Ms`] = rounded(await longestSilence(service, agent, attack))
    }
    return [
      figure(
        'Stop_by_input',
        { value: Math.max(...Object.values(silences)), n: Object.keys(silences).length },
        silences,
      ),
    ]
  } finally {
    agent.destroy()
    await service.close()
  }
}

async function openCampaign(service: ServiceProcess): Promise<string> {
  const data = async (method: string, path: string, body?: unknown) =>
    ((await service.api(method, path, body)) as { data: never }).data
  const { id: agentId } = (await data('POST', '/v1/agents', TEST_AGENT)) as { id: string }
  await service.api('POST', `/v1/agents/${agentId}/publish`, {})
  const [number] = (await data('GET', '/v1/numbers')) as { id: string }[]
  const made = await data('POST', '/v1/campaigns', { name: 'Bench', agentId, numberId: number?.id })
  return (made as { id: string }).id
}

/** Sends an attack, and asks for the health of the service again and again until it is answered. */
async function longestSilence(service: ServiceProcess, agent: Agent, attack: Attack): Promise<number> {
  let over = false
  const sent = send(service, agent, 'POST', attack).finally(() => {
    over = true
  })
  let longest = 0
  while (!over) {
    const startedAt = performance.now()
    await send(service, agent, 'GET', { path: '/v1/health', type: '', body: '' })
    longest = Math.max(longest, performance.now() - startedAt)
  }
  await sent
  return longest
}

function send(
  service: ServiceProcess,
  agent: Agent,
  method: string,
  { path, type, body }: Attack,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${service.keys.test}`,
      ...(body === '' ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    }
    const request = httpRequest(`${service.httpUrl}${path}`, { agent, method, headers }, (response) => {
      response.resume().once('end', resolve).once('error', reject)
    })
    request.once('error', reject).end(body)
  })
}
