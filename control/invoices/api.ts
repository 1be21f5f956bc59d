import { z } from 'zod'
import { downloadOperation, listOperation, operation } from '../api/operation.js'
import { refuse } from '../api/problem.js'
import { idParam } from '../base/schemas.js'
import { readInvoiceFile } from './file.js'
import { awaitsRegistration, findRegistration } from './register.js'
import { findInvoice, listInvoices } from './store.js'
import { Invoice, invoiceView, invoiceViews } from './view.js'

const InvoicePath = z.object({ id: idParam('inv') })
const Day = z.iso.date().optional().meta({ description: 'Day in India, inclusive.' })
const noInvoice = () => refuse('not_found', 'The invoice does not exist.')

export const listInvoicesOperation = listOperation({
  id: 'listInvoices',
  path: '/v1/invoices',
  tag: 'Wallet and limits',
  summary: 'List invoices and credit notes',
  description: 'Newest first. The test environment has none.',
  audience: 'key',
  scope: 'read',
  query: z.object({ from: Day, to: Day }),
  result: Invoice,
  fails: [],
  run: async ({ query, actor, deps, page }) => {
    if (actor.environment === 'test') return { items: [], next: null }
    const filter = { from: query.from ?? null, to: query.to ?? null }
    const { items, next } = await listInvoices(deps.db, actor.organizationId, filter, page)
    return { items: await invoiceViews(deps.db, items), next }
  },
})

export const readInvoice = operation({
  id: 'readInvoice',
  method: 'get',
  path: '/v1/invoices/:id',
  tag: 'Wallet and limits',
  summary: 'Get an invoice or a credit note',
  description: 'A document never changes once it is issued. An e-invoice gets its registration later, once.',
  audience: 'key',
  scope: 'read',
  params: InvoicePath,
  status: 200,
  result: Invoice,
  fails: ['not_found'],
  run: async ({ params, actor, deps }) => {
    if (actor.environment === 'test') return noInvoice()
    const found = await findInvoice(deps.db, actor.organizationId, params.id)
    if (found === null) return noInvoice()
    return invoiceView(found, await findRegistration(deps.db, found.id))
  },
})

export const downloadInvoice = downloadOperation({
  id: 'downloadInvoice',
  path: '/v1/invoices/:id/invoice.pdf',
  tag: 'Wallet and limits',
  summary: 'Download an invoice as PDF',
  description:
    'In English, with the names of the parties in their own scripts. Each download of a document has the same bytes. An e-invoice has no PDF before it is registered: `conflict`.',
  audience: 'key',
  scope: 'read',
  params: InvoicePath,
  contentType: 'application/pdf',
  fails: ['not_found', 'conflict'],
  run: async ({ params, actor, deps }) => {
    if (actor.environment === 'test') return noInvoice()
    const found = await findInvoice(deps.db, actor.organizationId, params.id)
    if (found === null) return noInvoice()
    const registration = await findRegistration(deps.db, found.id)
    if (awaitsRegistration(found, registration)) {
      return refuse(
        'conflict',
        'The document is an e-invoice that the supplier has not registered yet. It has no PDF before that.',
        { eInvoice: 'pending' },
      )
    }
    const fileName = `${found.number.replaceAll('/', '-')}.pdf`
    return { fileName, content: await readInvoiceFile(deps, found, registration) }
  },
})

export const invoiceOperations = [listInvoicesOperation, readInvoice, downloadInvoice]
