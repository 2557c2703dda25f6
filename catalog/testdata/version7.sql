PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE raw_visits (patient INTEGER, sex TEXT, visited TEXT);
INSERT INTO raw_visits VALUES(1,'F','2024-01-05');
INSERT INTO raw_visits VALUES(1,'F','2024-02-05');
INSERT INTO raw_visits VALUES(2,'M','2024-02-09');
INSERT INTO raw_visits VALUES(3,'F','2025-06-01');
CREATE TABLE dpsql_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO dpsql_schema VALUES(7);
CREATE TABLE dpsql_public (
	name        TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	declared_at TEXT NOT NULL
) STRICT;
CREATE TABLE dpsql_public_columns (
	public  TEXT NOT NULL COLLATE NOCASE,
	name    TEXT NOT NULL COLLATE NOCASE,
	lowest  TEXT NOT NULL,
	highest TEXT NOT NULL,
	step    TEXT NOT NULL,
	or_null INTEGER NOT NULL,
	PRIMARY KEY (public, name)
) STRICT;
CREATE TABLE dpsql_accounts (
	id                  INTEGER PRIMARY KEY,
	epsilon             TEXT NOT NULL,
	delta               TEXT NOT NULL,
	interactive         TEXT NOT NULL,
	release_epsilon     INTEGER NOT NULL,
	release_delta       INTEGER NOT NULL,
	interactive_rho     INTEGER NOT NULL,
	interactive_delta   INTEGER NOT NULL,
	interactive_epsilon INTEGER NOT NULL,
	created_at          TEXT NOT NULL,
	digest              BLOB NOT NULL DEFAULT x'',
	max_charge          INTEGER NOT NULL DEFAULT 0,
	analysts_buy        INTEGER NOT NULL DEFAULT 1
) STRICT;
INSERT INTO dpsql_accounts VALUES(1,'1','1e-6','0.5',500000000000000,500000000000,6224817121658,500000000000,500000000000000,'2026-11-23T15:24:19Z',X'8a8c5dbbc8726205df897e979c52d24dfc06f440bc900e221f5c2917157116e9',0,1);
CREATE TABLE dpsql_bases (
	name    TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id)
) STRICT;
INSERT INTO dpsql_bases VALUES('raw_visits',1);
CREATE TABLE dpsql_sources (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL COLLATE NOCASE,
	kind       TEXT NOT NULL,
	dsn_env    TEXT NOT NULL,
	timeout    INTEGER NOT NULL,
	created_at TEXT NOT NULL,
	dropped_at TEXT,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE TABLE dpsql_tables (
	id            INTEGER PRIMARY KEY,
	name          TEXT NOT NULL COLLATE NOCASE,
	source        TEXT NOT NULL,
	account       INTEGER REFERENCES dpsql_accounts (id),
	unit          TEXT NOT NULL,
	max_rows      INTEGER NOT NULL,
	source_schema TEXT NOT NULL,
	key           BLOB NOT NULL,
	nhat          INTEGER,
	nhat_epsilon  INTEGER,
	nhat_rho      INTEGER,
	nhat_law      TEXT,
	created_at    TEXT NOT NULL,
	dropped_at    TEXT,
	digest        BLOB NOT NULL DEFAULT x'',
	source_id     INTEGER REFERENCES dpsql_sources (id)
, answer_time INTEGER NOT NULL DEFAULT 250) STRICT;
INSERT INTO dpsql_tables VALUES(1,'visits','raw_visits',1,'patient',2,replace('CREATE TABLE raw_visits (patient INTEGER, sex TEXT, visited TEXT);\n','\n',char(10)),X'e7f2cf7094040060412ed9361d8bc1b5d5ef8205def2eeb2edc39a85718b79c3',1,0,2974136261,'dgauss(2000000000000000/2974136261)','2026-11-23T15:24:19Z',NULL,X'4b2e20a0096c310d370e5893ad1b1cf070cfb4e2d1f74a7866e98ab01cc26a9d',NULL,250);
CREATE TABLE dpsql_columns (
	table_id INTEGER NOT NULL REFERENCES dpsql_tables (id),
	position INTEGER NOT NULL,
	name     TEXT NOT NULL COLLATE NOCASE,
	type     TEXT NOT NULL,
	domain   TEXT NOT NULL,
	PRIMARY KEY (table_id, position)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_columns VALUES(1,0,'sex','TEXT','{"values":["F","M"]}');
INSERT INTO dpsql_columns VALUES(1,1,'visited','DATE','{"stored":"iso","range":[19723,20453]}');
CREATE TABLE dpsql_releases (
	id          INTEGER PRIMARY KEY,
	name        TEXT NOT NULL COLLATE NOCASE,
	table_id    INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns     TEXT NOT NULL,
	method      TEXT NOT NULL,
	params      TEXT NOT NULL,
	epsilon     INTEGER NOT NULL,
	delta       INTEGER NOT NULL,
	max_support INTEGER NOT NULL,
	size        INTEGER NOT NULL,
	sha256      BLOB NOT NULL,
	created_at  TEXT NOT NULL,
	dropped_at  TEXT,
	digest      BLOB NOT NULL DEFAULT x''
) STRICT;
INSERT INTO dpsql_releases VALUES(1,'by_sex',1,'[0]','projection','{"transform":"identity","rows":2,"law":"dlap(20)","sampler":"table"}',100000000000000,0,65536,151,X'fb8dde179f1affcb27bd96fdbcd9b63948dd401bd8a9a218a830cc883a7df774','2026-11-23T15:24:19Z',NULL,X'e4c00f04f4da4066fd265d19e2120b001ee43c83c8669b299e451a13a87f10a0');
CREATE TABLE dpsql_mechanisms (
	id           INTEGER PRIMARY KEY,
	name         TEXT NOT NULL COLLATE NOCASE,
	table_id     INTEGER NOT NULL REFERENCES dpsql_tables (id),
	columns      TEXT NOT NULL,
	params       TEXT NOT NULL,
	epsilon      INTEGER NOT NULL,
	rho          INTEGER NOT NULL,
	run_rho      INTEGER NOT NULL,
	updates      INTEGER NOT NULL,
	runs_started INTEGER NOT NULL,
	runs_ended   INTEGER NOT NULL,
	comparisons  INTEGER NOT NULL,
	run          INTEGER,
	tau          INTEGER,
	leased       INTEGER NOT NULL,
	state_size   INTEGER NOT NULL,
	state_sha256 BLOB NOT NULL,
	created_at   TEXT NOT NULL,
	dropped_at   TEXT,
	digest       BLOB NOT NULL DEFAULT x''
) STRICT;
INSERT INTO dpsql_mechanisms VALUES(1,'gone',1,'[0]','{"s":2,"updates":2,"max_support":2,"max_weight":1,"queries":100,"n_hat":1,"sensitivity":2,"beta":0.05,"eps1":"8192/1235253","eps2":"512/48635","threshold":3605,"bound":3605,"alpha":0,"update":"projection","eta":0.5,"floor":3605,"replay":1802,"prior":"uniform"}',100000000000000,294439489845,147219744922,2,0,0,0,NULL,NULL,0,0,X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855','2026-11-23T15:24:19Z','2026-11-23T15:24:19Z',X'8bbaed4f1a63cca488f308f676b114892790623b289460645db4aa4b2a3b322a');
INSERT INTO dpsql_mechanisms VALUES(2,'live',1,'[0]','{"s":2,"updates":2,"max_support":2,"max_weight":1,"queries":100,"n_hat":1,"sensitivity":2,"beta":0.05,"eps1":"4096/614531","eps2":"16384/1548519","threshold":3587,"bound":3587,"alpha":0,"update":"projection","eta":0.5,"floor":3587,"replay":1793,"prior":"uniform"}',100000000000000,297413626106,148706813053,2,0,0,0,NULL,NULL,0,0,X'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855','2026-11-23T15:24:19Z',NULL,X'ffd43e962777fea0a92a940c592c5537b9ea1eab690ba5827d58b2b0efcaba52');
CREATE TABLE dpsql_payloads (
	owner    TEXT NOT NULL,
	owner_id INTEGER NOT NULL,
	part     INTEGER NOT NULL,
	data     BLOB NOT NULL,
	PRIMARY KEY (owner, owner_id, part)
) STRICT;
INSERT INTO dpsql_payloads VALUES('release',1,0,X'647073716c70726a030003005041524d3400000000000000010102000000000000000000fd7e4e1a20f90e87a059971773f0a499127db1dd3f0ec7dc60957bb8cf07c49d646c6170283230294d4154521000000000000000f11d13e45afe087dcff30bbe52d0da7443454c4c0300000000000000010cee9df868d76afd2a2467379649abbea03335b4113323cbdfdb20b1722df769adb3');
CREATE TABLE dpsql_history (
	mechanism INTEGER NOT NULL REFERENCES dpsql_mechanisms (id),
	seq       INTEGER NOT NULL,
	query     TEXT NOT NULL,
	noisy     INTEGER NOT NULL,
	digest    BLOB NOT NULL DEFAULT x'',
	PRIMARY KEY (mechanism, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE dpsql_answers (
	id         INTEGER PRIMARY KEY,
	table_id   INTEGER NOT NULL REFERENCES dpsql_tables (id),
	sha256     BLOB NOT NULL,
	query      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	via        TEXT NOT NULL,
	mechanism  INTEGER REFERENCES dpsql_mechanisms (id),
	estimate   INTEGER NOT NULL,
	law        TEXT NOT NULL,
	created_at TEXT NOT NULL,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
INSERT INTO dpsql_answers VALUES(1,1,X'1392f241e52e6e04551f71d91645f76605f5618e94d67a4a3496ad6fca9eae64','visited{19723..19874: 1}','direct','direct',NULL,61,'"dgauss(500000000000000/47778660963)"','2026-11-23T15:24:19Z',X'c288796ba6ee674a26428d93c0f265ba67622e09a73805f72aeaa02a03cc8fdd');
CREATE TABLE dpsql_ledger (
	seq     INTEGER PRIMARY KEY,
	at      TEXT NOT NULL,
	account INTEGER NOT NULL REFERENCES dpsql_accounts (id),
	kind    TEXT NOT NULL,
	action  TEXT NOT NULL,
	object  TEXT NOT NULL,
	epsilon INTEGER NOT NULL,
	delta   INTEGER NOT NULL,
	rho     INTEGER NOT NULL,
	hash    BLOB NOT NULL
) STRICT;
INSERT INTO dpsql_ledger VALUES(1,'2026-11-23T15:24:19Z',1,'releases','budget declared: epsilon = 1, delta = 1e-6, interactive = 0.5; releases ε 0.5, δ 5e-7; interactive ρ 0.006224817121658 (ε 0.5 at δ 5e-7)','raw_visits',0,0,0,X'e3dbea7d0026e689cb740a5b950cc051c0e4786db0f3b4b0a65ae0fdbe3c52b7');
INSERT INTO dpsql_ledger VALUES(2,'2026-11-23T15:24:19Z',1,'releases','create release','by_sex',100000000000000,0,0,X'b1a4cc711d15393be472287afd269398e43372c11e7054a46ff2e74f87cce525');
INSERT INTO dpsql_ledger VALUES(3,'2026-11-23T15:24:19Z',1,'interactive','direct answer','visits',0,0,191114643852,X'58dedf85d36b8c040cd59d81d4000b4de58b9fcde0fd9361614260aed9a91a91');
INSERT INTO dpsql_ledger VALUES(4,'2026-11-23T15:24:19Z',1,'interactive','number of rows','visits',0,0,2974136261,X'8d8297c43edbe5e252d58e920c6b72e7b435750491b4ee03a0760831d1057d5c');
INSERT INTO dpsql_ledger VALUES(5,'2026-11-23T15:24:19Z',1,'interactive','reserve mechanism','gone',0,0,294439489845,X'33f94fcd18fa5679371b4ac459b00550d6e60995b4041bc789e343f0eb3480a6');
INSERT INTO dpsql_ledger VALUES(6,'2026-11-23T15:24:19Z',1,'interactive','reserve mechanism','live',0,0,297413626106,X'1326388db4efb764154b006618742481d0d2b194aa90c26cfb1b8751de1780cb');
INSERT INTO dpsql_ledger VALUES(7,'2026-11-23T15:24:19Z',1,'interactive','granted to ana: rho = 0.001','visits',0,0,0,X'9914064d9aab6cf19c6f3b874875b4171776ca888882aa5f3519ae37e4adc400');
INSERT INTO dpsql_ledger VALUES(8,'2026-11-23T15:24:19Z',1,'interactive','return unused runs','gone',0,0,-294439489844,X'cf074eac465056752eb5cf299a77591d7c9e48a7457fa23cf20ef7eaad36ca1b');
CREATE TABLE dpsql_rolls (
	owner INTEGER NOT NULL,
	name  TEXT NOT NULL,
	count INTEGER NOT NULL,
	sum   BLOB NOT NULL,
	PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_rolls VALUES(0,'accounts',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'catalog',0,X'92f01294b59e5351c370e1743f54ab93b64309e0c42395304797753340ef0554');
INSERT INTO dpsql_rolls VALUES(0,'declared tables',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'grants',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'ledger',8,X'cf074eac465056752eb5cf299a77591d7c9e48a7457fa23cf20ef7eaad36ca1b');
INSERT INTO dpsql_rolls VALUES(0,'mechanisms',1,X'07aa5a48ef46849c4b172febdf07b39190b6fe1d053c484d19fb351c4de222df');
INSERT INTO dpsql_rolls VALUES(0,'private tables',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'releases',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
INSERT INTO dpsql_rolls VALUES(0,'users',1,X'83c563bc5acdcc682f3c141a70f5a3d52b5d7d8900bb7baec659bf2edd9cbc26');
CREATE TABLE dpsql_answer_counts (
	table_id INTEGER NOT NULL REFERENCES dpsql_tables (id),
	sha256   BLOB NOT NULL,
	answers  INTEGER NOT NULL,
	PRIMARY KEY (table_id, sha256)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_answer_counts VALUES(1,X'1392f241e52e6e04551f71d91645f76605f5618e94d67a4a3496ad6fca9eae64',1);
CREATE TABLE dpsql_key_lists (
	public      TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
	table_name  TEXT NOT NULL COLLATE NOCASE,
	column_name TEXT NOT NULL COLLATE NOCASE
) STRICT;
CREATE TABLE dpsql_users (
	id         INTEGER PRIMARY KEY,
	name       TEXT NOT NULL COLLATE NOCASE,
	verifier   TEXT NOT NULL,
	created_at TEXT NOT NULL,
	dropped_at TEXT,
	digest     BLOB NOT NULL DEFAULT x''
) STRICT;
INSERT INTO dpsql_users VALUES(1,'ana','SCRAM-SHA-256$4096:lHfwJlpbtgrzTy4WREDF7Q==$nna6kFT7u8GUjvynk5XRrgIJBxt9YdWaMKnhjeR0YmM=:CVD0Zf2rR6yUD6AKPAlopSxyNdbGtRFX0GFPTzdWRXM=','2026-11-23T15:24:19Z',NULL,X'a71ebb8e461f7ad6494ec19c591d5f0ea853a8bfb105e903988a1694602e801e');
CREATE TABLE dpsql_grants (
	id         INTEGER PRIMARY KEY,
	user_id    INTEGER NOT NULL REFERENCES dpsql_users (id),
	table_id   INTEGER NOT NULL REFERENCES dpsql_tables (id),
	rho        INTEGER NOT NULL,
	charge     INTEGER NOT NULL,
	spent      INTEGER NOT NULL,
	granted_at TEXT NOT NULL,
	revoked_at TEXT,
	digest     BLOB NOT NULL DEFAULT x'',
	UNIQUE (user_id, table_id)
) STRICT;
INSERT INTO dpsql_grants VALUES(1,1,1,1000000000000,0,0,'2026-11-23T15:24:19Z',NULL,X'b89473af1c5236c9e4fd5714cfd45226cbfcec18f757bd9441561a06efd8ac0d');
CREATE UNIQUE INDEX dpsql_sources_live ON dpsql_sources (name) WHERE dropped_at IS NULL;
CREATE UNIQUE INDEX dpsql_tables_live ON dpsql_tables (name) WHERE dropped_at IS NULL;
CREATE UNIQUE INDEX dpsql_releases_live ON dpsql_releases (name) WHERE dropped_at IS NULL;
CREATE UNIQUE INDEX dpsql_mechanisms_live ON dpsql_mechanisms (name) WHERE dropped_at IS NULL;
CREATE INDEX dpsql_answers_query ON dpsql_answers (table_id, sha256);
CREATE TRIGGER dpsql_ledger_update BEFORE UPDATE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_delete BEFORE DELETE ON dpsql_ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_ledger_insert BEFORE INSERT ON dpsql_ledger
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_ledger)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER dpsql_history_update BEFORE UPDATE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_delete BEFORE DELETE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE TRIGGER dpsql_history_insert BEFORE INSERT ON dpsql_history
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM dpsql_history WHERE mechanism = NEW.mechanism)
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END;
CREATE UNIQUE INDEX dpsql_users_live ON dpsql_users (name) WHERE dropped_at IS NULL;
COMMIT;
