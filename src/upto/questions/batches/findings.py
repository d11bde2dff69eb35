"""Rules of findings about batches and labels."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP071",
        title="batch confounded with label",
        severity="warning",
        meaning="A label occurs in few batches, or many batches contain only one of two classes.",
        matters="A classifier may separate those batches rather than the label, and held-out "
        "batches with the same confounding do not reveal it. Labels that share fewer than ten "
        "batches, and means dominated by such labels, have no interval, because it would not reach "
        "its coverage. If the AUROC within batches is not clearly above chance either, the verdict "
        "states that the label cannot be separated from batches.",
        remedy="Use the AUROC within batches, which compares only rows of the same batch; compare "
        "with controls in the same batches.",
    ),
    Rule(
        code="UP072",
        title="label predictable from well position",
        severity="warning",
        meaning="Well position alone predicts the label on held-out batches.",
        matters="Edge and row effects repeat on every plate: a classifier can exploit them instead "
        "of biology, and held-out plates do not reveal it.",
        remedy="Randomise positions, or compare with controls in the same or neighbouring wells.",
    ),
    Rule(
        code="UP073",
        title="duplicate wells",
        severity="warning",
        meaning="Several rows have the same well in the same batch.",
        matters="Either different batches share a name (plates are often renumbered in each "
        "experiment), so that folds mix them, or rows are repeated.",
        remedy="Name every column that identifies a batch, such as experiment and plate; drop "
        "repeated rows.",
    ),
    Rule(
        code="UP074",
        title="equal rows in several batches",
        severity="warning",
        meaning="Rows with the same values occur in different batches.",
        matters="Rows copied to several batches, such as controls, are in both training and "
        "held-out sets: the classifier is tested on rows it was trained on.",
        remedy="Keep one copy of each, or hold out the batches that share them together.",
    ),
    Rule(
        code="UP075",
        title="label not evaluated",
        severity="warning",
        meaning="A label has too few rows or batches to train on some and test on others.",
        matters="It is missing from the tables or from some folds, and means are over the rest.",
        remedy="Add batches with that label, or merge labels.",
    ),
    Rule(
        code="UP076",
        title="no gain from any condition",
        severity="note",
        meaning="No transform predicts labels on held-out batches better than the unmodified "
        "embedding, beyond the variation between folds.",
        matters="For these labels, correcting the embedding is not worth the risk.",
        remedy="Use the unmodified embedding; more batches could reveal a smaller gain.",
    ),
    Rule(
        code="UP077",
        title="shuffled labels off chance",
        severity="warning",
        meaning="A classifier trained on shuffled labels is further from an AUROC of 0.5 than its "
        "standard error allows.",
        matters="With so few rows or batches, chance alone reaches this AUROC, so values of this "
        "size are not evidence. Rows repeated in several batches are not detected here.",
        remedy="Use more batches, or more rows of the label; average over more folds.",
    ),
    Rule(
        code="UP078",
        title="label predictable from batch",
        severity="warning",
        meaning="Labels shuffled within each batch are still predicted on held-out batches.",
        matters="Batches with many perturbed rows resemble each other: part of the AUROC reflects "
        "the batch and not the perturbation.",
        remedy="Use the AUROC within batches; hold out what such batches share, such as the day.",
    ),
    Rule(
        code="UP079",
        title="fitted with the held-out batches",
        severity="note",
        meaning="Transforms were fitted to all rows, including the held-out ones.",
        matters="A new batch would not have been available for the fit, so these scores do not "
        "estimate performance on new batches. The paper's tables are of this kind. Only the "
        "condition biology uses labels.",
        remedy="Fit to training batches, the default.",
    ),
    Rule(
        code="UP080",
        title="mixing and held-out batches disagree",
        severity="note",
        meaning="The condition with the best total mixing score predicts labels on held-out "
        "batches worse than another condition.",
        matters="The total rewards batch mixing, which an embedding without biology maximises, and "
        "is computed in sample.",
        remedy="Choose by held-out AUROC; inspect the parts of the total.",
    ),
    Rule(
        code="UP081",
        title="few batches",
        severity="warning",
        meaning="Fewer than five batches can be held out.",
        matters="Intervals are over batches: with so few they are wide and uninformative.",
        remedy="Add batches before choosing between conditions.",
    ),
    Rule(
        code="UP082",
        title="components carry batch and label",
        severity="note",
        meaning="Some components differ both between batches and between labels.",
        matters="Removing them removes biology, keeping them keeps batch effects: the components "
        "do not separate the two.",
        remedy="Scale each batch by its own controls first, or accept the remaining batch effect.",
    ),
    Rule(
        code="UP083",
        title="controls split between correction and testing",
        severity="note",
        meaning="Half of the controls of each batch correct it, and only the others are tested.",
        matters="A control used to correct its own batch resembles the other controls more than a "
        "new one would. If it were tested too, AUROCs could reach 1 without any biology.",
        remedy="No action is needed; with few controls per batch, choose conditions that use none, "
        "so that all controls are tested.",
    ),
    Rule(
        code="UP084",
        title="condition omitted",
        severity="warning",
        meaning="A condition could not be fitted to the batches of at least one fold.",
        matters="It is missing from all tables. If every component carries batch and none carries "
        "a label, removing the batch components would remove everything.",
        remedy="Correct batch offsets first, as the conditions batch-scaled+biology and "
        "control-scaled+biology do.",
    ),
    Rule(
        code="UP085",
        title="near-duplicate names",
        severity="warning",
        meaning="Labels, batches or values of a factor differ only in case, spaces, separators or "
        "leading zeros, or are words for a missing value.",
        matters="Each spelling counts as a separate value: misspelt controls are evaluated as a "
        "label, a batch spelt in two ways may be in both training and held-out sets, and a factor "
        "has too much entropy.",
        remedy="Spell names consistently, and leave missing values empty.",
    ),
    Rule(
        code="UP086",
        title="near copies in several batches",
        severity="warning",
        meaning="Some rows of different batches are far closer to each other than the surrounding "
        "rows explain.",
        matters="Rows copied and then rounded or stored again are in both training and held-out "
        "sets: the classifier is tested on rows it was trained on. Scaled copies are not detected.",
        remedy="Keep one copy of each, or hold out the batches that share them together.",
    ),
    Rule(
        code="UP089",
        title="no component can be dropped safely",
        severity="note",
        meaning="It cannot be shown that the batch components are free of label information, so "
        "all are kept and the rows are unchanged.",
        matters="Finding no label in a component is not evidence that it carries none. Either a "
        "label may shift each component too far; or, with training batches held out in turn, "
        "boosted trees or logistic regression may lose more than 0.005 of AUROC without them "
        "(lower 95 % limit of the mean over labels); or LightGBM, which measures this loss, is "
        "missing.",
        remedy="Use the unmodified rows, or scale each batch by its own controls; more batches "
        "that contain every label give more power.",
    ),
)
