import { Button, Group, NativeSelect, PinInput, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { CreateTransferDestinationBody } from '../../../../clients/typescript/generated/types.js'
import type { Item } from '../api.js'
import type { Messages } from '../messages/en.js'
import { Confirm, Dialog, Form, FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { type Hours, HoursInput } from '../parts/HoursInput.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Problem } from '../parts/Problem.js'
import { Rows } from '../parts/Rows.js'
import { useToast } from '../parts/toast.js'
import { State } from '../parts/Word.js'
import { useSession } from '../session.js'

type Destination = Item<'listTransferDestinations'>
type Language = NonNullable<CreateTransferDestinationBody['language']>

const LANGUAGES: readonly Language[] = [
  'en-IN',
  'hi-IN',
  'bn-IN',
  'ta-IN',
  'te-IN',
  'kn-IN',
  'ml-IN',
  'mr-IN',
  'gu-IN',
  'pa-IN',
  'or-IN',
]

/** Lists the people that agents hand calls over to. */
export function Destinations() {
  const t = useTranslations('destinations')
  const { api, canManage } = useSession()
  const [edited, setEdited] = useState<Destination | 'new' | null>(null)
  const [verified, setVerified] = useState<string | null>(null)
  const [removed, setRemoved] = useState<Destination | null>(null)
  const destinations = useList(['destinations'], (cursor) =>
    api.listTransferDestinations({ query: { cursor } }),
  )
  const items = destinations.data?.pages.flatMap((page) => page.items) ?? []
  const verifying = items.find(({ id }) => id === verified)
  const remove = useAction(
    (id: string) => api.deleteTransferDestination({ id }),
    () => setRemoved(null),
  )
  return (
    <Page
      title={t('title')}
      actions={canManage && <Button onClick={() => setEdited('new')}>{t('new')}</Button>}
    >
      <Text size="sm">{t('hint')}</Text>
      <List query={destinations} empty={t('empty')}>
        {(rows) => (
          <Rows
            label={t('title')}
            rows={rows}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('label'),
                cell: ({ label, key }) => (
                  <>
                    {label}
                    <Text size="xs" c="dimmed">
                      {key}
                    </Text>
                  </>
                ),
              },
              { title: t('number'), cell: ({ e164 }) => <span className="once">{e164}</span> },
              { title: t('state'), cell: ({ status }) => <State value={status} /> },
              { title: t('hours'), cell: ({ hours }) => <HoursText hours={hours} /> },
              {
                title: '',
                align: 'right',
                cell: (destination) =>
                  canManage && (
                    <Group gap="xs" justify="flex-end" wrap="nowrap">
                      {destination.status === 'pending' && (
                        <Button size="xs" onClick={() => setVerified(destination.id)}>
                          {t('verify')}
                        </Button>
                      )}
                      <Button
                        size="xs"
                        variant="default"
                        aria-label={t('editTitle', { name: destination.label })}
                        onClick={() => setEdited(destination)}
                      >
                        {t('edit')}
                      </Button>
                      <Button
                        size="xs"
                        variant="default"
                        aria-label={`${t('remove')} ${destination.label}`}
                        onClick={() => setRemoved(destination)}
                      >
                        {t('remove')}
                      </Button>
                    </Group>
                  ),
              },
            ]}
          />
        )}
      </List>
      {edited !== null && (
        <Edit destination={edited === 'new' ? null : edited} close={() => setEdited(null)} />
      )}
      {verifying !== undefined && <Verify destination={verifying} close={() => setVerified(null)} />}
      {removed !== null && (
        <Confirm
          title={t('remove')}
          text={t('removeText', { name: removed.label })}
          label={t('remove')}
          action={{ ...remove, mutate: () => remove.mutate(removed.id) }}
          close={() => setRemoved(null)}
        />
      )}
    </Page>
  )
}

type Days = keyof Messages['days']

function HoursText({ hours }: { readonly hours: Destination['hours'] }) {
  const t = useTranslations('destinations')
  const tDays = useTranslations('days')
  if (hours === null || hours.length === 0) return t('always')
  return hours.map(({ days, from, to }) => (
    <div key={`${days} ${from}`} className="once">
      {tDays.has(days as Days) ? tDays(days as Days) : days} {from}–{to}
    </div>
  ))
}

function Edit({
  destination,
  close,
}: {
  readonly destination: Destination | null
  readonly close: () => void
}) {
  const t = useTranslations('destinations')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const form = useFields({
    key: destination?.key ?? '',
    label: destination?.label ?? '',
    e164: destination?.e164 ?? '+91',
    language: destination?.language ?? 'en-IN',
  })
  const [hours, setHours] = useState<Hours>(destination?.hours ?? [])
  const { key, label, e164, language } = form.values
  const body = { label, e164, language: language as Language, hours: hours.length === 0 ? null : hours }
  const save = useAction(
    () =>
      destination === null
        ? api.createTransferDestination({ body: { ...body, key } })
        : api.updateTransferDestination({ id: destination.id, body }),
    close,
  )
  const title = destination === null ? t('new') : t('editTitle', { name: destination.label })
  return (
    <FormDialog
      title={title}
      close={close}
      size="lg"
      action={save}
      submit={tCommon(destination === null ? 'create' : 'save')}
      disabled={hours.some(({ from, to }) => from >= to)}
    >
      <TextInput label={t('label')} required maxLength={80} data-autofocus {...form.text('label')} />
      {destination === null && (
        <TextInput
          label={t('key')}
          description={t('keyHint')}
          required
          pattern="[a-z0-9_]+"
          maxLength={40}
          {...form.text('key')}
        />
      )}
      <TextInput label={t('number')} type="tel" required {...form.text('e164')} />
      <NativeSelect label={t('language')} data={[...LANGUAGES]} {...form.text('language')} />
      <HoursInput hours={hours} onChange={setHours} />
    </FormDialog>
  )
}

/** Proves that the number belongs to the destination: a call says a code, which is typed in here. */
function Verify({ destination, close }: { readonly destination: Destination; readonly close: () => void }) {
  const t = useTranslations('destinations')
  const { api } = useSession()
  const toast = useToast()
  const [code, setCode] = useState('')
  const { id, e164, verification } = destination
  const call = useAction(() => api.verifyTransferDestination({ id }))
  const confirm = useAction(
    () => api.confirmTransferDestination({ id, body: { code } }),
    () => {
      toast(t('verified'))
      close()
    },
  )
  return (
    <Dialog title={t('verifyTitle', { number: e164 })} close={close}>
      <Text>{t('verifyText', { left: verification.callsLeftToday })}</Text>
      {call.error !== null && <Problem error={call.error} />}
      <Group>
        <Button
          variant={verification.codeExpiresAt === null ? 'filled' : 'default'}
          onClick={() => call.mutate()}
          loading={call.isPending}
          disabled={verification.callsLeftToday === 0}
        >
          {t('callNow')}
        </Button>
      </Group>
      {verification.codeExpiresAt !== null && (
        <Form action={confirm} submit={t('confirm')} disabled={code.length < 6}>
          <Stack gap={4}>
            <Text size="sm">{t('code')}</Text>
            <PinInput
              length={6}
              type="number"
              oneTimeCode
              aria-label={t('code')}
              value={code}
              onChange={setCode}
            />
            <Text size="sm">{t('attempts', { count: verification.attemptsLeft })}</Text>
          </Stack>
        </Form>
      )}
    </Dialog>
  )
}
