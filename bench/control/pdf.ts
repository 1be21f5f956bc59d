import { systemClock } from '../../media/base/clock.js'
import { silentLog } from '../../media/base/log.js'
import type { PdfDocument } from '../../workers/jobs/pdf/document.js'
import { PdfJobs } from '../../workers/jobs/pdf-jobs.js'
import { figure, type Measured } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { judgedTimes, type Timed } from '../lib/judged-time.js'
import { maximum, percentile, rounded } from '../lib/statistics.js'

const DOCUMENTS = 1_000
const WARM_UP = 5

/** An invoice of one page in two scripts. */
const INVOICE: PdfDocument = {
  title: 'Tax invoice INV-2026-0042',
  createdAt: 0,
  footer: 'Smile Dental Clinic, Bengaluru',
  blocks: [
    {
      kind: 'facts',
      rows: [
        ['Recipient', 'श्री गणेश क्लिनिक, 12 MG Road, Bengaluru 560001'],
        ['GSTIN', '29AAGCB7383J1Z4'],
        ['Place of supply', '29 Karnataka'],
      ],
    },
    {
      kind: 'table',
      columns: [
        { title: 'Description', share: 3 },
        { title: 'SAC', share: 1 },
        { title: 'Taxable value', share: 1, align: 'right' },
      ],
      rows: Array.from({ length: 10 }, (_, index) => [`Voice calls, part ${index}`, '998422', '₹ 1,200.50']),
    },
    { kind: 'paragraph', text: 'Amount in words: fourteen thousand one hundred and sixty-five rupees.' },
  ],
}

/** Measures the time of an invoice in the PDF thread (ms), one after the other, and the first one with its start. */
export async function measurePdf(probe: Probe): Promise<Measured[]> {
  const jobs = new PdfJobs({ log: silentLog })
  try {
    const timed = async (): Promise<number> => {
      const startedAt = systemClock.now()
      await jobs.render(INVOICE)
      return systemClock.now() - startedAt
    }
    const firstMs = rounded(await timed())
    for (let i = 0; i < WARM_UP; i++) await timed()
    const rendered: Timed[] = []
    await probe.begin()
    for (let i = 0; i < DOCUMENTS; i++) rendered.push({ atMs: systemClock.now(), ms: await timed() })
    const { late } = await probe.judge()
    const times = judgedTimes(late, rendered)
    const values = {
      p50: rounded(percentile(times, 0.5)),
      p99: rounded(percentile(times, 0.99)),
      max: rounded(maximum(times)),
      n: times.length,
    }
    return [figure('A_pdf', values, { firstMs })]
  } finally {
    await jobs.close()
  }
}
