import { Alert, Anchor, Button, NumberInput, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { useFormat } from '../i18n.js'
import { useSession } from '../session.js'
import { Dialog, FormDialog } from './Dialog.js'
import { useFields } from './fields.js'
import { saveFile } from './files.js'
import { List, useAction, useList } from './List.js'
import { Problem } from './Problem.js'
import { Facts, Rows } from './Rows.js'
import { useWord } from './Word.js'

/** Starts a payment. The payment page of the service leads to the gateway. */
export function TopUp({ close }: { readonly close: () => void }) {
  const t = useTranslations('topup')
  const { api, environment } = useSession()
  const { money } = useFormat()
  const form = useFields({ rupees: 1000 })
  const create = useAction(() =>
    api.createTopup({ body: { amountPaise: Math.round(form.values.rupees * 100) } }),
  )
  if (create.data !== undefined) {
    const { amountPaise, taxPaise, payablePaise, checkoutUrl } = create.data
    return (
      <Dialog title={t('title')} close={close}>
        <Facts
          facts={[
            [t('amount'), money(amountPaise)],
            [t('gst'), money(taxPaise)],
            [t('pay'), <strong key="pay">{money(payablePaise)}</strong>],
          ]}
        />
        {checkoutUrl === null ? (
          <Text>{t('pending')}</Text>
        ) : (
          <>
            <Text size="sm">{t('ready')}</Text>
            <Button component="a" href={checkoutUrl} target="_blank" rel="noreferrer">
              {t('openPage')}
            </Button>
          </>
        )}
      </Dialog>
    )
  }
  return (
    <FormDialog title={t('title')} close={close} action={create} submit={t('next')}>
      {create.error !== null && (
        <Alert color="orange">
          <Anchor component={Link} to={`/${environment}/settings`} underline="always">
            {t('billing')}
          </Anchor>
        </Alert>
      )}
      <NumberInput
        label={t('amount')}
        description={t('hint')}
        prefix="₹"
        min={1}
        decimalScale={2}
        thousandsGroupStyle="lakh"
        thousandSeparator=","
        data-autofocus
        {...form.number('rupees')}
      />
    </FormDialog>
  )
}

/** Lists invoices and credit notes, with their PDF. */
export function Invoices() {
  const t = useTranslations('invoices')
  const { api } = useSession()
  const { money, day } = useFormat()
  const word = useWord()
  const invoices = useList(['invoices'], (cursor) => api.listInvoices({ query: { cursor } }))
  const save = useMutation({
    mutationFn: async ({ id, number }: { readonly id: string; readonly number: string }) =>
      saveFile(await api.downloadInvoice({ id }), `${number.replaceAll('/', '-')}.pdf`),
  })
  return (
    <>
      {save.error !== null && <Problem error={save.error} />}
      <List query={invoices} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('number'),
                cell: ({ number, specimen }) => (
                  <>
                    <span className="once">{number}</span>
                    {specimen && <Text size="xs">{t('specimen')}</Text>}
                  </>
                ),
              },
              { title: t('kind'), cell: ({ kind }) => word(kind) },
              { title: t('issued'), cell: ({ issuedAt }) => day(issuedAt) },
              {
                title: t('tax'),
                align: 'right',
                cell: ({ cgstPaise, sgstPaise, utgstPaise, igstPaise }) =>
                  money(cgstPaise + sgstPaise + utgstPaise + igstPaise),
              },
              { title: t('total'), align: 'right', cell: ({ totalPaise }) => money(totalPaise) },
              {
                title: '',
                align: 'right',
                cell: (invoice) =>
                  invoice.eInvoice?.status === 'pending' ? (
                    <Text size="xs">{t('unregistered')}</Text>
                  ) : (
                    <Button
                      size="xs"
                      variant="default"
                      aria-label={t('pdfOf', { number: invoice.number })}
                      onClick={() => save.mutate(invoice)}
                    >
                      {t('pdf')}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </List>
    </>
  )
}
