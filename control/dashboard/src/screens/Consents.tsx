import { Button, Checkbox, Group, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { CreateConsentBody, ImportConsentsBody } from '../../../../clients/typescript/generated/types.js'
import type { Item } from '../api.js'
import { useFormat } from '../i18n.js'
import { CsvImport } from '../parts/CsvImport.js'
import { FormDialog } from '../parts/Dialog.js'
import { useFields } from '../parts/fields.js'
import { List, useAction, useList } from '../parts/List.js'
import { Page } from '../parts/Page.js'
import { Rows } from '../parts/Rows.js'
import { State, useWord } from '../parts/Word.js'
import { useSession } from '../session.js'

type Consent = Item<'listConsents'>

const PURPOSES = ['promotional', 'service', 'transactional', 'collections'] as const
const KINDS = ['explicit', 'inferred'] as const
const TYPING_MS = 300

/** Lists consents: who agreed to what, how, and until when. */
export function Consents() {
  const t = useTranslations('consents')
  const { api, canWrite, environment } = useSession()
  const { day } = useFormat()
  const word = useWord()
  const [number, setNumber] = useState('')
  const [e164] = useDebouncedValue(number.trim(), TYPING_MS)
  const [adding, setAdding] = useState<'one' | 'many' | null>(null)
  const [revoked, setRevoked] = useState<Consent | null>(null)
  const close = (): void => setAdding(null)
  const consents = useList(['consents', e164], (cursor) =>
    api.listConsents({ query: { cursor, ...(e164 === '' ? {} : { e164 }) } }),
  )
  return (
    <Page
      title={t('title')}
      actions={
        canWrite && (
          <>
            <Button variant="default" onClick={() => setAdding('many')}>
              {t('import')}
            </Button>
            <Button onClick={() => setAdding('one')}>{t('new')}</Button>
          </>
        )
      }
    >
      <TextInput
        maw={280}
        label={t('filter')}
        type="tel"
        placeholder="+919812345678"
        value={number}
        onChange={({ currentTarget }) => setNumber(currentTarget.value)}
      />
      <List query={consents} empty={t('empty')}>
        {(items) => (
          <Rows
            label={t('title')}
            rows={items}
            idOf={({ id }) => id}
            columns={[
              {
                title: t('number'),
                cell: (consent) => (
                  <Link to="/$environment/people/$number" params={{ environment, number: consent.e164 }}>
                    {consent.e164}
                  </Link>
                ),
              },
              { title: t('purpose'), cell: ({ purpose }) => word(purpose) },
              { title: t('kind'), cell: ({ kind }) => word(kind) },
              { title: t('scope'), cell: ({ scope }) => scope },
              { title: t('captured'), cell: ({ capturedAt }) => day(capturedAt) },
              {
                title: t('expires'),
                cell: ({ expiresAt }) => (expiresAt === null ? t('forever') : day(expiresAt)),
              },
              {
                title: t('state'),
                cell: ({ active, revokedReason }) => (
                  <>
                    <State value={active ? 'active' : 'expired'} /> {revokedReason}
                  </>
                ),
              },
              {
                title: '',
                align: 'right',
                cell: (consent) =>
                  canWrite &&
                  consent.active && (
                    <Button
                      size="xs"
                      variant="default"
                      aria-label={t('revokeTitle', { number: consent.e164 })}
                      onClick={() => setRevoked(consent)}
                    >
                      {t('revoke')}
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </List>
      {adding === 'one' && <NewConsent close={close} />}
      {adding === 'many' && (
        <CsvImport
          title={t('import')}
          hint={t('importHint')}
          columns={['e164', 'purpose', 'kind', 'scope', 'source']}
          send={(rows) =>
            api.importConsents({ body: { records: rows as unknown as ImportConsentsBody['records'] } })
          }
          close={close}
        />
      )}
      {revoked !== null && <Revoke consent={revoked} close={() => setRevoked(null)} />}
    </Page>
  )
}

function NewConsent({ close }: { readonly close: () => void }) {
  const t = useTranslations('consents')
  const tCommon = useTranslations('common')
  const { api } = useSession()
  const word = useWord()
  const form = useFields({
    e164: '+91',
    purpose: 'promotional' as string,
    kind: 'explicit' as string,
    scope: '',
    source: '',
    evidenceRef: '',
  })
  const { purpose, kind, evidenceRef, ...rest } = form.values
  const body: CreateConsentBody = {
    ...rest,
    purpose: purpose as CreateConsentBody['purpose'],
    kind: kind as CreateConsentBody['kind'],
    evidenceRef: evidenceRef === '' ? null : evidenceRef,
  }
  const create = useAction(() => api.createConsent({ body }), close)
  return (
    <FormDialog title={t('new')} close={close} action={create} submit={tCommon('save')}>
      <TextInput label={t('number')} type="tel" required data-autofocus {...form.text('e164')} />
      <NativeSelect
        label={t('purpose')}
        data={PURPOSES.map((value) => ({ value, label: word(value) }))}
        {...form.text('purpose')}
      />
      <NativeSelect
        label={t('kind')}
        data={KINDS.map((value) => ({ value, label: word(value) }))}
        {...form.text('kind')}
      />
      <TextInput label={t('scope')} required maxLength={200} {...form.text('scope')} />
      <TextInput label={t('source')} required maxLength={200} {...form.text('source')} />
      <TextInput label={t('evidence')} maxLength={200} {...form.text('evidenceRef')} />
    </FormDialog>
  )
}

function Revoke({ consent, close }: { readonly consent: Consent; readonly close: () => void }) {
  const t = useTranslations('consents')
  const { api } = useSession()
  const form = useFields({ reason: '', optOut: false })
  const revoke = useAction(() => api.revokeConsent({ id: consent.id, body: form.values }), close)
  return (
    <FormDialog
      title={t('revokeTitle', { number: consent.e164 })}
      close={close}
      action={revoke}
      submit={t('revoke')}
    >
      <TextInput label={t('reason')} required maxLength={200} data-autofocus {...form.text('reason')} />
      <Group>
        <Checkbox label={t('optOut')} {...form.box('optOut')} />
      </Group>
    </FormDialog>
  )
}
