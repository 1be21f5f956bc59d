import { z } from 'zod'
import { audited } from '../api/audited.js'
import { listOperation } from '../api/operation.js'
import { idParam } from '../base/schemas.js'
import { listInvoices } from '../invoices/store.js'
import { DOCUMENT_KINDS, Invoice, invoiceViews } from '../invoices/view.js'
import { organizationNotFound } from './staff-action.js'

export const listInvoicesAsStaff = listOperation({
  id: 'listInvoicesAsStaff',
  path: '/v1/staff/organizations/:id/invoices',
  tag: 'Staff',
  summary: 'List invoices and credit notes of an organization',
  description: 'Newest first. The access is recorded in the audit log.',
  audience: 'staff',
  params: z.object({ id: idParam('org') }),
  query: z.object({ kind: z.enum(DOCUMENT_KINDS).optional() }),
  result: Invoice,
  fails: ['not_found'],
  run: async ({ params, query, actor, deps, page, requestId }) => {
    const known = await deps.db.selectFrom('organizations').select('id').where('id', '=', params.id).execute()
    if (known.length === 0) return organizationNotFound()
    const filter = { from: null, to: null, kind: query.kind ?? null }
    const { items, next } = await listInvoices(deps.db, params.id, filter, page)
    await audited({ organizationId: params.id, actor, deps, requestId }, (_trx, record) =>
      record('staff.invoices_read', params.id, { subject: 'organization' }),
    )
    return { items: await invoiceViews(deps.db, items), next }
  },
})
